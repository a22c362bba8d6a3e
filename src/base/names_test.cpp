#include "base/names.h"

#include <gtest/gtest.h>

namespace partita {

enum class Fruit { apple, dark_cherry };
constexpr auto value_names(Fruit) { return names("apple", "cherry"); }

namespace {

TEST(Names, AreReadBack) {
  for (const Fruit fruit : {Fruit::apple, Fruit::dark_cherry})
    EXPECT_EQ(parse_name<Fruit>("fruit", name_of(fruit)), fruit);
  EXPECT_EQ(name_of(Fruit::dark_cherry), "cherry");
  EXPECT_EQ(names_of<Fruit>(), (std::vector<std::string>{"apple", "cherry"}));
}

TEST(Names, AnUnknownOneSuggestsTheNearest) {
  try {
    parse_name<Fruit>("--fruit", "chery");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "[--fruit] unknown name, got 'chery', expected one of apple cherry, did you mean 'cherry'?");
    EXPECT_EQ(error.kind(), ErrorKind::key);
  }
}

}  // namespace
}  // namespace partita
