#include "base/error.h"

#include <gtest/gtest.h>

#include "base/failure_code.h"

namespace partita {
namespace {

std::string many(std::string_view text, size_t times) {
  std::string all;
  while (times-- > 0) all += text;
  return all;
}

TEST(Shortened, UsualMessagesStay) {
  for (const std::string text :
       {"", "'", "''", "[--loss] unknown name, got 'sprase', expected one of a b, did you mean 'sparse'?",
        "the batch's rows, got \xf0\x9f\x98\x80 ' and '  '", "[a] got 'x', (expected 'y')."}) {
    EXPECT_EQ(shortened(text), text);
  }
  const std::string value(160, 'a');
  EXPECT_EQ(shortened(value), value);
}

TEST(Shortened, LongValuesShowTheirBeginningAndLength) {
  const std::string value(102400, 'a'), start(80, 'a');
  EXPECT_EQ(shortened("[--loss] unknown, got '" + value + "', expected b"),
            "[--loss] unknown, got '" + start + "...' (102400 characters), expected b");
  EXPECT_EQ(shortened("[--seed] got " + value + ", expected 0 to 3"),
            "[--seed] got " + start + "... (102400 characters), expected 0 to 3");
  EXPECT_EQ(shortened(value), start + "... (102400 characters)");
  // A quoted value may contain spaces and quotation marks.
  const std::string words = many("it's ", 100);
  EXPECT_EQ(shortened("got '" + words + "'"), "got '" + many("it's ", 16) + "...' (500 characters)");
  EXPECT_EQ(shortened("cannot open " + value + ": No such file"),
            "cannot open " + start + "... (102400 characters): No such file");
}

TEST(Shortened, NoCharacterIsCut) {
  const std::string text = shortened("got 'x" + many("\u20ac", 100) + "'");
  EXPECT_EQ(text, "got 'x" + many("\u20ac", 26) + "...' (101 characters)");
}

TEST(Shortened, NoZeroByteEndsAMessage) {
  const InvalidArgument error(std::string("got 'a\0b', expected c", 21));
  EXPECT_STREQ(error.what(), "got 'a?b', expected c");
}

TEST(Shortened, NoMessageIsLong) {
  const std::string text = shortened(many("1 ", 50000));
  EXPECT_LT(text.size(), 2100u);
  EXPECT_TRUE(text.ends_with("... (100000 characters)")) << text;
}

TEST(RequireConsistent, TheUserReadsNoPlaceInTheSource) {
  const auto refusal = [](const std::function<void()>& check) -> std::string {
    try {
      require_consistent("plan", check);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  };
  const int parts = 3;
  EXPECT_EQ(refusal([&] { PARTITA_CHECK(parts == 2, "{} parts of two", parts); }),
            "[plan] the parts do not fit together: 3 parts of two");
  EXPECT_EQ(refusal([] { throw InvalidArgument("[op] bad, got 1, expected 2"); }),
            "[plan] the parts do not fit together: [op] bad, got 1, expected 2");
  EXPECT_EQ(refusal([] {}), "accepted");
  try {
    PARTITA_CHECK(parts == 2, "{} parts of two", parts);
  } catch (const InternalError& error) {
    EXPECT_EQ(error.detail(), "3 parts of two");
    EXPECT_TRUE(std::string(error.what()).ends_with("internal check failed: parts == 2: 3 parts of two"));
  }
}

TEST(Shortened, EveryErrorIs) {
  const InvalidArgument error("got '" + std::string(1000, 'a') + "'");
  EXPECT_LT(std::string_view(error.what()).size(), 200u);
}

TEST(Nearest, ShortNamesDifferInOneEdit) {
  const std::vector<std::string> ops{"add", "log", "relu", "reduce", "mlp", "matmul"};
  EXPECT_EQ(nearest("foo", ops), "");
  EXPECT_EQ(nearest("lag", ops), "log");
  EXPECT_EQ(nearest("rleu", ops), "relu");  // two swapped neighbours are one edit
  EXPECT_EQ(nearest("mpl", ops), "mlp");
  EXPECT_EQ(nearest("rexx", ops), "");
  EXPECT_EQ(nearest("", ops), "");
  EXPECT_EQ(nearest("redxxe", ops), "reduce");
  EXPECT_EQ(nearest("mtamull", ops), "matmul");
  const std::vector<std::string> presets{"v100", "a100-40", "a100-8", "resnet18", "lenet"};
  EXPECT_EQ(nearest("a100", presets), "a100-8");  // the shortest of what it begins, before the nearest
  EXPECT_EQ(nearest("resnet", presets), "resnet18");
  EXPECT_EQ(nearest("le", presets), "");
}

TEST(Nearest, LongNamesTakeNoTime) {
  const std::vector<std::string> many(10'000, "learning_rate");
  EXPECT_EQ(nearest(std::string(1 << 22, 'x'), many), "");
}

TEST(FailureOf, IsAFailureForAnyNumber) {
  for (const ExitCode code : {ExitCode::usage, ExitCode::peer_lost, ExitCode::non_finite, ExitCode::interrupted}) {
    EXPECT_EQ(failure_of(static_cast<int>(code)), code);
  }
  for (const int64_t code : {0L, -1L, 1L, 72L, 128L, 193L, 76L + 256, 1L << 40}) {
    EXPECT_EQ(failure_of(code), ExitCode::internal) << code;
  }
}

}  // namespace
}  // namespace partita
