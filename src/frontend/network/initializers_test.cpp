#include "frontend/network/initializers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"

namespace partita {
namespace {

constexpr uint64_t kKey = 42;

struct Moments {
  double mean = 0, sigma = 0, low = 1e300, high = -1e300;
};

Moments moments_of(const Array& array) {
  Moments result;
  const int64_t count = array.type().elements();
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = array.at(i);
    result.mean += value / double(count);
    squares += value * value / double(count);
    result.low = std::min(result.low, value);
    result.high = std::max(result.high, value);
  }
  result.sigma = std::sqrt(squares - result.mean * result.mean);
  return result;
}

TEST(Initializers, FansOfDenseAndConvolution) {
  EXPECT_EQ(fans_of({120, 400}).in, 400);
  EXPECT_EQ(fans_of({120, 400}).out, 120);
  EXPECT_EQ(fans_of({16, 6, 5, 3}).in, 6 * 15);
  EXPECT_EQ(fans_of({16, 6, 5, 3}).out, 16 * 15);
}

// Ranks make their parts of a weight independently.
TEST(Initializers, ABoxHasTheNumbersOfTheWhole) {
  const Type type{DType::f32, {5, 4, 6}};
  const Box box{{1, 4, 5}, {0, 4, 4}, {2, 5, 6}};
  for (const Initializer& init :
       {initializer(Init::ones, type.shape), constant_initializer(3), normal_initializer(1, 2),
        truncated_normal_initializer(1, 2), uniform_initializer(-1, 3)}) {
    const Array whole = make_initial(init, type, kKey);
    Array part(Type{type.dtype, shape_of(box)});
    make_initial_part(init, type.dtype, box, kKey, part.data());
    for_common_runs(box, whole_box(type.shape), box, [&](int64_t first, int64_t place, int64_t count) {
      for (int64_t i = 0; i < count; ++i) EXPECT_EQ(part.at(place + i), whole.at(first + i));
    });
  }
}

TEST(Initializers, ScalesFollowTheFans) {
  const Shape shape{300, 200};
  const std::vector<std::pair<Init, double>> sigmas{{Init::he_normal, std::sqrt(2.0 / 200)},
                                                    {Init::he_normal_fan_out, std::sqrt(2.0 / 300)},
                                                    {Init::he_uniform, std::sqrt(2.0 / 200)},
                                                    {Init::xavier_normal, std::sqrt(2.0 / 500)},
                                                    {Init::xavier_uniform, std::sqrt(2.0 / 500)}};
  for (const auto& [name, sigma] : sigmas) {
    const Moments got = moments_of(make_initial(initializer(name, shape), {DType::f64, shape}, kKey));
    EXPECT_NEAR(got.mean, 0, 0.02 * sigma) << name_of(name);
    EXPECT_NEAR(got.sigma, sigma, 0.01 * sigma) << name_of(name);
    if (name_of(name).ends_with("uniform")) {
      EXPECT_LE(got.high, std::sqrt(3) * sigma) << name_of(name);
    }
  }
}

TEST(Initializers, TruncatedNormalStaysWithinTwoSigmas) {
  const Moments got = moments_of(make_initial(truncated_normal_initializer(1, 0.5), {DType::f64, {100000}}, kKey));
  EXPECT_GE(got.low, 0);
  EXPECT_LE(got.high, 2);
  EXPECT_NEAR(got.sigma, 0.5 * 0.8796, 0.005);
}

TEST(Initializers, OtherTypesAreTheRoundedDoubles) {
  const Initializer init = normal_initializer(0, 1);
  const Array wide = make_initial(init, {DType::f64, {9000}}, kKey);
  const Array narrow = make_initial(init, {DType::f32, {9000}}, kKey);
  for (int64_t i = 0; i < 9000; ++i) ASSERT_EQ(narrow.as<float>()[i], static_cast<float>(wide.as<double>()[i]));
}

TEST(Initializers, ValuesDependOnTheKeyAndTheElementAlone) {
  const Initializer init = uniform_initializer(-1, 1);
  const Array first = make_initial(init, {DType::f64, {100, 100}}, kKey);
  EXPECT_EQ(first.at(7), make_initial(init, {DType::f64, {8}}, kKey).at(7));
  EXPECT_EQ(first.at(7), -1 + 2 * uniform_of(random_word(kKey, 7, 0)));
  EXPECT_NE(first.at(7), make_initial(init, {DType::f64, {8}}, kKey + 1).at(7));
}

TEST(Initializers, RulesAreNamesOrDistributions) {
  EXPECT_EQ(InitRule(Init::he_normal).of({4, 8}), normal_initializer(0, 0.5));
  EXPECT_EQ(InitRule(uniform_initializer(0, 1)).of({4, 8}), uniform_initializer(0, 1));
}

TEST(Initializers, BadArgumentsAreRefused) {
  const Type type{DType::f32, {2}};
  for (const Initializer& bad :
       {Initializer{InitKind::normal, {0}}, Initializer{InitKind::normal, {0, -1}}, Initializer{InitKind::zeros, {1}},
        Initializer{InitKind::uniform, {1, 0}}, Initializer{InitKind::constant, {std::nan("")}}}) {
    EXPECT_THROW(make_initial(bad, type, kKey), InvalidArgument) << name_of(bad.kind);
  }
}

}  // namespace
}  // namespace partita
