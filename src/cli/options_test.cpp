#include "cli/options.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace partita {
namespace {

std::string refusal(const std::string& spec) {
  try {
    parse_data_spec(spec);
    return "";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

TEST(Options, DataSpecs) {
  EXPECT_EQ(parse_data_spec("mnist:/data/m").kind, "mnist");
  EXPECT_EQ(parse_data_spec("mnist:/data/m").folder, "/data/m");
  EXPECT_EQ(parse_data_spec("cifar10:a:b").folder, "a:b");
  EXPECT_EQ(parse_data_spec("synthetic").folder, "");
}

TEST(Options, WrongDataSpecs) {
  EXPECT_NE(refusal("minst:/data").find("did you mean 'mnist'?"), std::string::npos);
  EXPECT_NE(refusal("mnist").find("expected mnist:DIR"), std::string::npos);
  EXPECT_NE(refusal("mnist:").find("expected mnist:DIR"), std::string::npos);
  EXPECT_NE(refusal("synthetic:/data").find("expected mnist:DIR"), std::string::npos);
}

TEST(Options, ChoicesNameTheNearest) {
  EXPECT_NO_THROW(check_choice("--loss", "mse", {"sparse", "mse"}));
  try {
    check_choice("--loss", "sprase", {"sparse", "mse"});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "[--loss] unknown name, got 'sprase', expected one of sparse mse, did you mean 'sparse'?");
  }
}

TEST(Options, Ranges) {
  EXPECT_NO_THROW(check_range("--ranks", 1, 1, 8));
  EXPECT_THROW(check_range("--ranks", 0, 1, 8), InvalidArgument);
  EXPECT_THROW(check_range("--ranks", 9, 1, 8), InvalidArgument);
}

TEST(Options, WholeNumbers) {
  EXPECT_EQ(parse_whole("--seed", "18446744073709551615", 0, ~uint64_t{0}), ~uint64_t{0});
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "9", "18446744073709551616"}) {
    EXPECT_THROW(parse_whole("--seed", text, 0, 8), InvalidArgument) << text;
  }
}

TEST(Options, OnlyWhatATerminalMayGet) {
  EXPECT_EQ(printable("a\tb\x7f\x1b[0m"), "a?b??[0m");
  EXPECT_EQ(printable("h\u00fclle \u20ac \U0001f600"), "h\u00fclle \u20ac \U0001f600");
  EXPECT_EQ(printable("\xc2\x85 \xc0\xaf \xe2\x82 \xed\xa0\x80 \xf5\x80\x80\x80 \x80"), "?? ?? ?? ??? ???? ?");
  EXPECT_EQ(printable("\xe2"), "?");
}

TEST(Options, SameFile) {
  EXPECT_TRUE(same_file("no/such/../file", "no/file"));
  EXPECT_TRUE(same_file("/", "/."));
  EXPECT_FALSE(same_file("no/file", "no/other"));
}

TEST(Options, ThreadsAreAtLeastOne) {
  EXPECT_EQ(threads_per_rank(3, 2), 3);
  EXPECT_GE(threads_per_rank(0, 1), 1);
  EXPECT_EQ(threads_per_rank(0, 4096), 1);
}

}  // namespace
}  // namespace partita
