#include "compiler/autodiff/rate_factors.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace partita {
namespace {

std::string refusal_of_rates(const std::vector<std::string>& rates) {
  try {
    rate_factors(rates, {"h.0.w", "h.1.w", "wte"});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(RateFactors, AreThoseOfTheLastPatternThatNamesAParameter) {
  const std::vector<std::string> names{"h.0.w", "h.1.w", "wte"};
  EXPECT_EQ(rate_factors({}, names), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(rate_factors({"h.*=0.5", "h.1.w=2"}, names), (std::vector<double>{0.5, 2, 1}));
  EXPECT_EQ(rate_factors({"h.1.w=2", "h.*=0.5", "*e=0"}, names), (std::vector<double>{0.5, 0.5, 0}));
}

TEST(RateFactors, OthersAreRefused) {
  for (const char* text : {"", "wte", "=1", "wte=", "wte=x", "wte=-1", "wte=1001", "wte=nan", "wte=1x", "wte=inf"}) {
    EXPECT_EQ(refusal_of_rates({text}), fmt::format("[--rate-of] not a factor of the learning rate, got '{}', expected "
                                                    "PARAMETERS=0 to 1000, such as h.0.*=0.1",
                                                    text));
  }
  EXPECT_EQ(refusal_of_rates({"h.2.*=0.5"}),
            "[--rate-of] a pattern names nothing, got 'h.2.*', expected names of trained parameters, such as h.0.w");
}

}  // namespace
}  // namespace partita
