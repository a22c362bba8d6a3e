#include "frontend/network/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/network/layer.h"
#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/registry.h"
#include "ir/ops/shape/attrs.h"
#include "runtime/execute/interpreter.h"

namespace partita {
namespace {

struct Fixture {
  Builder builder{all_ops()};
  Value x = builder.input("x", {DType::f64, {2, 3}});

  Array run(Value y) {
    builder.output("y", y);
    return interpret(builder.graph(), all_ops(), {{"x", Array({2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6})}}).at(0);
  }
};

int line_of(Value value) {
  const Graph& graph = value.builder().graph();
  return graph.nodes[graph.values[value.id()].producer].source.line;
}

TEST(Functions, WeightedMeans) {
  Fixture f;
  const Value weights = scale(f.x, -1, 6);  // 5 4 3 2 1 0
  EXPECT_NEAR(f.run(weighted_mean(square(f.x), weights)).at(0), (5 + 16 + 27 + 32 + 25) / 15.0, 1e-12);
  EXPECT_THROW(weighted_mean(f.x, reduce_sum(f.x, {0})), InvalidArgument);
  EXPECT_THROW(weighted_mean(f.x, greater(f.x, f.x)), InvalidArgument);
}

// The divisor is the sum of the weights unless that is 0, even if it is tiny.
TEST(Functions, WeightedMeansOfWeightsNearZero) {
  for (const double weight : {0.0, -0.0, 1e-300, 0.05, -0.05}) {
    Fixture f;
    const Value mean = weighted_mean(square(f.x), scale(f.x, 0, weight));
    EXPECT_NEAR(f.run(mean).at(0), weight == 0 ? 0 : 91.0 / 6, 1e-12) << weight;
  }
  Fixture f;  // weights that sum to 0 and are not 0: -2.5 -1.5 -0.5 0.5 1.5 2.5
  EXPECT_NEAR(f.run(weighted_mean(f.x, scale(f.x, 1, -3.5))).at(0), 17.5, 1e-12);
}

TEST(Functions, OperatorsWithNumbers) {
  Fixture f;
  const Array y = f.run(2 * (f.x + 1) - f.x / 4 + 1.0 / f.x + (3 - f.x));
  for (int i = 0; i < 6; ++i) {
    const double x = i + 1;
    EXPECT_DOUBLE_EQ(y.at(i), 2 * (x + 1) - x / 4 + 1 / x + (3 - x));
  }
}

TEST(Functions, OperatorsOnValues) {
  Fixture f;
  const Array y = f.run(-f.x * f.x + f.x / (f.x + f.x) - f.x);
  for (int i = 0; i < 6; ++i) EXPECT_DOUBLE_EQ(y.at(i), -(i + 1.0) * (i + 1) + 0.5 - (i + 1));
}

TEST(Functions, NodesCarryTheLineOfTheCall) {
  Fixture f;
  const Value a = relu(f.x);
  EXPECT_EQ(line_of(a), __LINE__ - 1);
  const Value b = a + f.x;
  EXPECT_EQ(line_of(b), __LINE__ - 1);
  const Value c = 2 * b;
  EXPECT_EQ(line_of(c), __LINE__ - 1);
  const Value d = -c;
  EXPECT_EQ(line_of(d), __LINE__ - 1);
  const Value e = 1 / d;
  EXPECT_EQ(line_of(e), __LINE__ - 1);
  const Value f1 = flatten(e);
  EXPECT_EQ(line_of(f1), __LINE__ - 1);
  EXPECT_EQ(f.builder.graph().nodes.front().source.file, "network/functions_test.cpp");
  EXPECT_EQ(f.builder.source, SourceLocation{});
}

TEST(Functions, OperandsArePromoted) {
  Fixture f;
  const Value narrow = cast(f.x, DType::f32);
  EXPECT_EQ((narrow + f.x).dtype(), DType::f64);
  EXPECT_EQ((narrow + 1).dtype(), DType::f32);
  EXPECT_EQ(cast(f.x, DType::f64).id(), f.x.id());
}

TEST(Functions, Reductions) {
  Fixture f;
  EXPECT_DOUBLE_EQ(f.run(reduce_mean(f.x)).at(0), 3.5);
  Fixture g;
  const Array rows = g.run(reduce_sum(g.x, {-1}, /*keep_dims=*/true));
  EXPECT_EQ(rows.shape(), (Shape{2, 1}));
  EXPECT_DOUBLE_EQ(rows.at(1), 15);
  Fixture h;
  EXPECT_DOUBLE_EQ(h.run(reduce_max(h.x, {0}) - reduce_min(h.x, {0})).at(2), 3);
}

TEST(Functions, Flatten) {
  Fixture f;
  EXPECT_EQ(flatten(reshape(f.x, {2, 3, 1})).shape(), (Shape{2, 3}));
  EXPECT_THROW(flatten(reduce_sum(f.x)), InvalidArgument);
}

TEST(Apply, AnyOpByNameWithAttributesAsAStructOrAsText) {
  Fixture f;
  const Value typed = apply("pow", {f.x}, PowAttrs{.exponent = 3});
  EXPECT_EQ(line_of(typed), __LINE__ - 1);
  const Value text = apply("pow", {f.x}, "{exponent=3}");
  EXPECT_EQ(f.builder.graph().nodes[0].attrs, f.builder.graph().nodes[1].attrs);
  EXPECT_EQ(typed.type(), text.type());
  EXPECT_EQ(apply_all("top_k", {f.x}, TopKAttrs{.k = 2}).size(), 2u);
  EXPECT_EQ(apply("square", {f.x}).type(), f.x.type());
}

TEST(Apply, RefusesWhatIsNotThere) {
  Fixture f;
  const auto refusal = [](auto&& call) -> std::string {
    try {
      call();
      return "";
    } catch (const InvalidArgument& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refusal([&] { apply("pow", {f.x}, GeluAttrs{}); }),
            "[pow] attributes of another op, got {approximate=false}, expected {exponent=2}");
  EXPECT_EQ(refusal([&] { apply("square", {f.x}, GeluAttrs{}); }),
            "[square] attributes of another op, got {approximate=false}, expected none");
  EXPECT_NE(refusal([&] { apply("pow", {f.x}, "{exponant=3}"); }).find("exponent"), std::string::npos);
  EXPECT_NE(refusal([&] { apply("sqare", {f.x}); }).find("square"), std::string::npos);
  EXPECT_EQ(refusal([&] { apply("square", {}); }), "[square] no operands, got 0, expected 1 or more");
}

/// Returns the values of a function of constants.
std::vector<double> values_of(Value y) {
  Builder& builder = y.builder();
  builder.output(fmt::format("y{}", builder.graph().outputs.size()), y);
  const Array array = interpret(builder.graph(), all_ops(), {}).back();
  std::vector<double> values;
  for (int64_t i = 0; i < array.type().elements(); ++i) values.push_back(array.at(i));
  return values;
}

/// A builder whose values are rows of numbers.
struct Numbers {
  Builder builder{all_ops()};

  Value row(const std::vector<double>& numbers, DType dtype = DType::f64) {
    std::vector<Value> parts;
    for (double number : numbers) parts.push_back(constant(builder, number, {dtype, {1}}));
    return builder.apply("concat", parts, ConcatAttrs{});
  }
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
    } else if (got[i] != expected[i]) {
      EXPECT_NEAR(got[i], expected[i], 1e-12) << i;
    }
  }
}

/// Expects `call` to throw InvalidArgument with `text` in its message.
template <class Call>
void expect_refusal(Call&& call, const std::string& text) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << text;
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(Activations, KnownValuesAndEdges) {
  Numbers n;
  const Value x = n.row({-800, -1, 0, 2, 800, kNan});
  const double at_one = 1 / (1 + std::exp(1.0)), at_two = 1 / (1 + std::exp(-2.0));
  expect_near(values_of(silu(x)), {0, -at_one, 0, 2 * at_two, 800, kNan});
  expect_near(values_of(softplus(x)),
              {0, std::log1p(std::exp(-1.0)), std::log(2.0), std::log1p(std::exp(2.0)), 800, kNan});
  expect_near(values_of(erf(x)), {-1, -0.8427007929497148, 0, 0.9953222650189527, 1, kNan});
  expect_near(values_of(gelu(x)), {0, -0.15865525393145707, 0, 1.9544997361036416, 800, kNan});
  expect_near(values_of(gelu(x, /*approximate=*/true)), {0, -0.15880800939172324, 0, 1.954597694087775, 800, kNan});
}

TEST(Pow, SmallLargeAndUndefinedPowers) {
  Numbers n;
  const Value x = n.row({-2, -0.0, 0, 4, kInfinity, kNan});
  expect_near(values_of(pow(x, 3)), {-8, 0, 0, 64, kInfinity, kNan});
  expect_near(values_of(pow(x, 0.5)), {kNan, 0, 0, 2, kInfinity, kNan});
  expect_near(values_of(pow(x, -1)), {-0.5, -kInfinity, kInfinity, 0.25, 0, kNan});
  expect_near(values_of(pow(x, 0)), {1, 1, 1, 1, 1, 1});
  // Those made of a square root are NaN, others as in std::pow.
  for (const double exponent : {0.5, -0.5, 1.5}) expect_near(values_of(pow(n.row({-kInfinity}), exponent)), {kNan});
  expect_near(values_of(pow(n.row({-kInfinity}), 0.25)), {kInfinity});
  expect_near(values_of(pow(n.row({-kInfinity}), -1.3)), {0});
  expect_refusal([&] { pow(x, kInfinity); }, "[pow] bad exponent, got inf, expected a finite number");
}

TEST(Comparisons, NotANumberDiffersFromAll) {
  Numbers n;
  const Value a = n.row({1, 2, 3, kNan}), b = n.row({2, 2, 2, kNan});
  using Bools = std::vector<double>;
  EXPECT_EQ(values_of(less(a, b)), (Bools{1, 0, 0, 0}));
  EXPECT_EQ(values_of(less_equal(a, b)), (Bools{1, 1, 0, 0}));
  EXPECT_EQ(values_of(greater(a, b)), (Bools{0, 0, 1, 0}));
  EXPECT_EQ(values_of(greater_equal(a, b)), (Bools{0, 1, 1, 0}));
  EXPECT_EQ(values_of(equal(a, b)), (Bools{0, 1, 0, 0}));
  EXPECT_EQ(values_of(not_equal(a, b)), (Bools{1, 0, 1, 1}));
  EXPECT_EQ(less(a, cast(b, DType::i32)).dtype(), DType::boolean);
}

TEST(Logical, TablesAndTypes) {
  Numbers n;
  const Value a = n.row({0, 0, 1, 1}, DType::boolean), b = n.row({0, 1, 0, 1}, DType::boolean);
  using Bools = std::vector<double>;
  EXPECT_EQ(values_of(logical_and(a, b)), (Bools{0, 0, 0, 1}));
  EXPECT_EQ(values_of(logical_or(a, b)), (Bools{0, 1, 1, 1}));
  EXPECT_EQ(values_of(logical_not(a)), (Bools{1, 1, 0, 0}));
  EXPECT_EQ(values_of(select(a, n.row({1, 2, 3, 4}), n.row({5}, DType::i32))), (Bools{5, 5, 3, 4}));
  const Value number = n.row({1});
  expect_refusal([&] { logical_not(number); }, "[logical_not] operands are not bool, got f64[1], expected bool");
  expect_refusal([&] { logical_and(a, number); }, "[logical_and] operands are not bool");
}

TEST(BinaryCrossEntropy, IsStableAndTakesOtherLabels) {
  Numbers n;
  const Value x = n.row({0, 40, -40, 800, -800, kNan, 1}), y = n.row({1, 1, 0, 0, 1, 1, kNan});
  const double small = std::log1p(std::exp(-40.0));
  expect_near(values_of(binary_cross_entropy(x, y)), {std::log(2.0), small, small, 800, 800, kNan, kNan});
  EXPECT_GT(values_of(binary_cross_entropy(n.row({40}), n.row({1}))).at(0), 4e-18);
  expect_near(values_of(binary_cross_entropy(n.row({0, 3}), n.row({1}, DType::boolean))),
              {std::log(2.0), std::log1p(std::exp(-3.0))});
  EXPECT_EQ(binary_cross_entropy(cast(x, DType::f32), cast(y, DType::i32)).dtype(), DType::f32);
}

TEST(Cumsum, DirectionsAndAxes) {
  using Row = std::vector<double>;
  Fixture f;
  EXPECT_EQ(f.run(cumsum(f.x, -1)).at(5), 15);
  Numbers n;
  const Value x = n.row({1, 2, kNan, 4});
  expect_near(values_of(cumsum(x, 0)), {1, 3, kNan, kNan});
  expect_near(values_of(cumsum(x, 0, /*exclusive=*/true)), {0, 1, 3, kNan});
  expect_near(values_of(cumsum(x, 0, /*exclusive=*/false, /*reverse=*/true)), {kNan, kNan, kNan, 4});
  expect_near(values_of(cumsum(x, 0, /*exclusive=*/true, /*reverse=*/true)), {kNan, kNan, 4, 0});
  EXPECT_EQ(values_of(cumsum(n.row({200, 100}, DType::u8), 0)), (Row{200, 44}));  // wraps around
  expect_refusal([&] { cumsum(x, 1); }, "[cumsum] axis is outside the tensor, got axis 1 of f64[4], expected -1 to 0");
  expect_refusal([&] { cumsum(n.row({1}, DType::boolean), 0); }, "[cumsum] operand is a bool");
}

TEST(Functions, RepeatAndSplit) {
  using Row = std::vector<double>;
  Fixture f;
  const Value wide = repeat(f.x, -1, 2);
  EXPECT_EQ(wide.shape(), (Shape{2, 6}));
  const Array y = f.run(wide);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(y.at(i), i / 2 + 1);
  expect_refusal([&] { repeat(f.x, 0, 0); }, "[repeat] bad times, got 0, expected at least 1");
  expect_refusal([&] { repeat(f.x, 2, 1); }, "[repeat] axis is outside the tensor, got axis 2 of f64[2,3]");
  Numbers n;
  const std::vector<Value> parts = split(n.row({1, 2, 3, 4, 5, 6}), 3, 0);
  ASSERT_EQ(parts.size(), 3);
  EXPECT_EQ(values_of(parts[1]), (Row{3, 4}));
  EXPECT_EQ(split(f.x, 3, -1).at(0).shape(), (Shape{2, 1}));
  expect_refusal([&] { split(f.x, 2, 1); },
                 "[split] parts are not equal, got 2 of axis 1 of f64[2,3], expected a divisor of 3");
  EXPECT_THROW(split(f.x, 0, 1), InvalidArgument);
}

TEST(TopK, NotANumberFirstAndTiesInOrder) {
  using Row = std::vector<double>;
  Numbers n;
  const Value x = n.row({1, 5, kNan, 5, -kInfinity, kNan});
  const auto [values, indices] = top_k(x, 6);
  EXPECT_EQ(indices.dtype(), DType::i32);
  expect_near(values_of(values), {kNan, kNan, 5, 5, 1, -kInfinity});
  EXPECT_EQ(values_of(indices), (Row{2, 5, 1, 3, 0, 4}));
  EXPECT_EQ(values_of(top_k(x, 3).indices), (Row{2, 5, 1}));
  expect_refusal([&] { top_k(x, 7); }, "[top_k] k does not fit, got 7 of f64[6]");
  EXPECT_THROW(top_k(x, 0), InvalidArgument);
}

TEST(Along, TakesAndPuts) {
  using Row = std::vector<double>;
  Numbers n;
  const Value x = n.row({10, 20, 30}), indices = n.row({2, 0, 2, 2}, DType::i32);
  EXPECT_EQ(values_of(take_along(x, indices)), (Row{30, 10, 30, 30}));
  EXPECT_EQ(values_of(put_along(n.row({1, 2, 4, 8}), indices, 4)), (Row{2, 0, 13, 0}));
  expect_refusal([&] { take_along(x, x); }, "[take_along] indices are not integers");
  expect_refusal([&] { put_along(x, indices, 4); }, "[put_along] operands do not fit, got f64[3], i32[4]");
  expect_refusal([&] { put_along(x, n.row({0, 1, 2}, DType::i64), -1); }, "[put_along] the columns are outside");
  Numbers m;
  expect_refusal(
      [&] {
        values_of(put_along(m.row({1, 2}), m.row({0, 2}, DType::i32), 2));
      },
      "[put_along] index is outside the last dimension, got 2, expected 0 to 1");
}

TEST(ScatterAdd, AddsRowsThatShareAnId) {
  using Row = std::vector<double>;
  Numbers n;
  const Value x = reshape(n.row({1, 2, 3, 4, 5, 6}), {3, 2}), ids = n.row({2, 0, 2}, DType::i32);
  const Value updates = reshape(n.row({10, 20, 30, 40, 50, 60}), {3, 2});
  EXPECT_EQ(values_of(scatter_add(x, ids, updates)), (Row{31, 42, 3, 4, 65, 86}));
  expect_refusal(
      [&] {
        scatter_add(x, ids, x + n.row({1, 2}, DType::f64) + reshape(x, {1, 3, 2}));
      },
      "[scatter_add] updates do not fit, got f64[1,3,2], expected f64[3,2]");
  Numbers m;
  const Value table = reshape(m.row({1, 2}), {2, 1});
  expect_refusal(
      [&] {
        values_of(scatter_add(table, m.row({0, -1}, DType::i64), table));
      },
      "[scatter_add] id is outside the table, got -1, expected 0 to 1");
}

TEST(Rotary, TurnsPairsByTheirPosition) {
  Numbers n;
  const Value x = reshape(n.row({1, 2, 3, 4, 5, 6, 7, 8}), {2, 4});
  const double c = std::cos(1), s = std::sin(1), slow_c = std::cos(0.01), slow_s = std::sin(0.01);
  const std::vector<double> second{5 * c - 7 * s, 6 * slow_c - 8 * slow_s, 7 * c + 5 * s, 8 * slow_c + 6 * slow_s};
  const std::vector<double> all = values_of(rotary(x));
  expect_near({all.begin(), all.begin() + 4}, {1, 2, 3, 4});
  expect_near({all.begin() + 4, all.end()}, second);
  // A later `begin` gives the same rotation at the same position.
  const Value row = reshape(n.row({5, 6, 7, 8}), {1, 4});
  expect_near(values_of(rotary(row, 10000, 1)), second);
  expect_refusal([&] { rotary(reshape(x, {8, 1})); }, "[rotary] operand has no pairs, got f64[8,1]");
  expect_refusal([&] { rotary(x, 0); }, "[rotary] bad base, got 0, expected a finite number above 0");
  expect_refusal([&] { rotary(x, 10, -1); }, "[rotary] bad begin, got -1");
}

TEST(Functions, BadOperandsAreRefused) {
  Fixture f, g;
  EXPECT_THROW(relu(Value()), InvalidArgument);
  EXPECT_THROW(f.x + Value(), InvalidArgument);
  EXPECT_THROW(f.x + g.x, InvalidArgument);
  EXPECT_THROW(1 / Value(), InvalidArgument);
  EXPECT_THROW(cast(Value(), DType::f32), InvalidArgument);
  EXPECT_THROW(reduce_sum(Value()), InvalidArgument);
  EXPECT_THROW(reduce_sum(f.x, {-3}), InvalidArgument);
}

}  // namespace
}  // namespace partita
