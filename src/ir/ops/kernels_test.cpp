// Checks beyond the op laws: values at edges, published formulas, and errors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "ir/graph/builder.h"
#include "ir/graph/op_def.h"
#include "ir/ops/test_kernels.h"

namespace partita {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Array> run_of_kernels(const std::string& name, const std::vector<Array>& inputs,
                                  const FieldTexts& fields = {}) {
  const OpDef& op = all_ops().at(name);
  return run_kernel(op, op.attrs.with(fields), inputs);
}

std::vector<double> numbers(const Array& array) {
  std::vector<double> values;
  for (int64_t i = 0; i < array.type().elements(); ++i) values.push_back(array.at(i));
  return values;
}

Array vector_of(const std::vector<double>& values) { return Array({static_cast<int64_t>(values.size())}, values); }

/// Returns the gradient of each operand of a node if `d` is the gradient of its result.
std::vector<std::vector<double>> gradients(const std::string& name, const std::vector<Array>& inputs, const Array& d,
                                           const FieldTexts& fields = {}) {
  Builder builder(all_ops());
  const Attrs attrs = all_ops().at(name).attrs.with(fields);
  std::vector<Value> values;
  std::vector<Array> computed = inputs;
  for (const Array& input : inputs) values.push_back(builder.input(fmt::format("x{}", values.size()), input.type()));
  const Value d_value = builder.input("d", d.type());
  computed.push_back(d);
  const std::vector<Value> outputs = builder.apply_all(name, values, attrs);
  const std::vector<Value> found = all_ops().at(name).grad({{builder, attrs, values}, outputs, {d_value}});
  for (const Node& node : builder.graph().nodes) {
    std::vector<Array> operands;
    for (ValueId id : node.inputs) operands.push_back(computed[id]);
    for (Array& output : run_of_kernels(node.op, operands, node.attrs.texts())) computed.push_back(std::move(output));
  }
  std::vector<std::vector<double>> result;
  for (const Value& value : found) result.push_back(numbers(computed[value.id()]));
  return result;
}

TEST(Reduce, ExtremesOfInfinitiesAndOfTheSmallestInteger) {
  const Array low({2, 1}, std::vector<double>{-kInfinity, -kInfinity});
  EXPECT_EQ(numbers(run_of_kernels("reduce", {low}, {{"kind", "max"}, {"axes", "[0]"}})[0]),
            std::vector<double>{-kInfinity});
  const Array high({2}, std::vector<float>{INFINITY, INFINITY});
  EXPECT_EQ(numbers(run_of_kernels("reduce", {high}, {{"kind", "min"}, {"axes", "[0]"}})[0]),
            std::vector<double>{kInfinity});
  constexpr int64_t kSmallest = std::numeric_limits<int64_t>::lowest();
  const Array integers({1}, std::vector<int64_t>{kSmallest});
  EXPECT_EQ(*run_of_kernels("reduce", {integers}, {{"kind", "max"}, {"axes", "[0]"}})[0].as<int64_t>(), kSmallest);
}

TEST(Reduce, NotANumberIsNotHidden) {
  const Array x = vector_of({1, std::nan(""), 2});
  for (const char* kind : {"sum", "max", "min"}) {
    EXPECT_TRUE(std::isnan(run_of_kernels("reduce", {x}, {{"kind", kind}, {"axes", "[0]"}})[0].at(0))) << kind;
  }
}

TEST(Reduce, EqualElementsShareTheGradientOfAMaximum) {
  const auto d = gradients("reduce", {vector_of({3, 1, 3})}, Array({}, std::vector<double>{8}),
                           {{"kind", "max"}, {"axes", "[0]"}});
  EXPECT_EQ(d[0], (std::vector<double>{4, 0, 4}));
}

TEST(Pointwise, NotANumberIsNotHidden) {
  const Array nan = vector_of({std::nan("")}), one = vector_of({1});
  EXPECT_TRUE(std::isnan(run_of_kernels("relu", {nan})[0].at(0)));
  EXPECT_TRUE(std::isnan(run_of_kernels("relu_grad", {one, nan})[0].at(0)) ||
              run_of_kernels("relu_grad", {one, nan})[0].at(0) == 1);
  EXPECT_TRUE(std::isnan(run_of_kernels("relu_grad", {nan, one})[0].at(0)));
  for (const char* name : {"maximum", "minimum"}) {
    EXPECT_TRUE(std::isnan(run_of_kernels(name, {nan, one})[0].at(0))) << name;
    EXPECT_TRUE(std::isnan(run_of_kernels(name, {one, nan})[0].at(0))) << name;
  }
}

// The formulas of the common exponents, which the reference also runs, against the library.
TEST(Pow, CommonExponentsAreThePowers) {
  const std::vector<double> numbers_of_x{1e-9, 0.3, 1, 2.75, 1234.5};
  for (const double exponent : {-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.7, 3.0, 4.0}) {
    const Array y = run_of_kernels("pow", {vector_of(numbers_of_x)}, {{"exponent", to_text(exponent)}})[0];
    for (size_t i = 0; i < numbers_of_x.size(); ++i) {
      const double expected = std::pow(numbers_of_x[i], exponent);
      EXPECT_NEAR(y.at(static_cast<int64_t>(i)), expected, 4e-16 * expected) << numbers_of_x[i] << " to " << exponent;
    }
  }
}

/// Returns a to the power of b in the type of a, by repeated multiplication.
template <class T>
std::vector<double> powers_of(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<double> result;
  for (size_t i = 0; i < a.size(); ++i) {
    uint64_t power = 1;
    for (T k = 0; k < b[i]; ++k) power *= static_cast<uint64_t>(a[i]);
    result.push_back(static_cast<double>(static_cast<T>(power)));
  }
  return result;
}

TEST(Power, OfIntegersIsExact) {
  const auto expect_products = [](auto zero, int64_t low, int64_t high) {
    using T = decltype(zero);
    std::mt19937_64 random(17);
    std::vector<T> a(200), b(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<T>(low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1)));
      b[i] = static_cast<T>(random() % 70);
    }
    const Array y = run_of_kernels("power", {Array({200}, a), Array({200}, b)})[0];
    EXPECT_EQ(numbers(y), powers_of(a, b));
  };
  expect_products(int64_t{}, -12, 12);
  expect_products(int32_t{}, -12, 12);
  expect_products(uint8_t{}, 0, 255);
  const Array three({3}, std::vector<int64_t>{3, -3, 7}), exponents({3}, std::vector<int64_t>{39, 39, 22});
  const Array large = run_of_kernels("power", {three, exponents})[0];
  EXPECT_EQ(large.as<int64_t>()[0], 4052555153018976267);
  EXPECT_EQ(large.as<int64_t>()[1], -4052555153018976267);
  EXPECT_EQ(large.as<int64_t>()[2], 3909821048582988049);
  const Array bases({6}, std::vector<int32_t>{1, -1, -1, 2, -3, 0});
  const Array negative({6}, std::vector<int32_t>{-5, -4, -3, -1, -2, -1});
  EXPECT_EQ(numbers(run_of_kernels("power", {bases, negative})[0]), (std::vector<double>{1, 1, -1, 0, 0, 0}));
}

// Expected values follow IEEE 754, like every array library.
TEST(Power, OfFloatsHasTheUsualEdges) {
  const double nan = std::nan("");
  const Array a = vector_of({-2, -2, 0, 0, -8, nan, 1, -2, 0, kInfinity});
  const Array b = vector_of({2, 3, 0, 2, 1.0 / 3, 0, nan, -2, -1, -1});
  const std::vector<double> y = numbers(run_of_kernels("power", {a, b})[0]);
  const std::vector<double> expected{4, -8, 1, 0, nan, 1, 1, 0.25, kInfinity, 0};
  for (size_t i = 0; i < y.size(); ++i) EXPECT_TRUE(y[i] == expected[i] || i == 4) << i << ": " << y[i];
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(numbers(run_of_kernels("power", {cast(a, DType::f32), cast(b, DType::f32)})[0])[1], -8);
}

// As in PyTorch: the base has no gradient where the exponent is 0, the exponent none where the base is 0 and the
// exponent is not negative, and it is NaN for a negative base.
TEST(Power, GradientsAtTheEdges) {
  const auto d = gradients("power", {vector_of({-2, -2, 0, 0, 0, 3, 0}), vector_of({2, 3, 0, 2, 1, 0, 0.5})},
                           vector_of({1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(d[0], (std::vector<double>{-4, 12, 0, 0, 1, 0, kInfinity}));
  EXPECT_TRUE(std::isnan(d[1][0]) && std::isnan(d[1][1]));
  EXPECT_EQ(std::vector<double>(d[1].begin() + 2, d[1].end()), (std::vector<double>{0, 0, 0, std::log(3.0), 0}));
  const auto below = gradients("power", {vector_of({0, 2}), vector_of({-1, -1})}, vector_of({1, 1}));
  EXPECT_EQ(below[0], (std::vector<double>{-kInfinity, -0.25}));
  EXPECT_EQ(below[1], (std::vector<double>{-kInfinity, 0.5 * std::log(2.0)}));
}

TEST(FloorDiv, OfIntegersIsExact) {
  const auto expect_division = [](auto zero) {
    using T = decltype(zero);
    using Range = std::numeric_limits<T>;
    std::mt19937_64 random(5);
    std::vector<T> a{Range::min(), Range::max(), Range::min(), Range::max(), 0, 7}, b{2, 2, Range::max(), 3, 5, 7};
    while (a.size() < 300) {
      a.push_back(static_cast<T>(random()));
      b.push_back(static_cast<T>(random() % 3 == 0 ? random() : random() % 9 + 1));
      if (b.back() == 0 || b.back() == static_cast<T>(-1)) b.back() = 3;
    }
    const Array dividend({300}, a), divisor({300}, b);
    const Array quotient = run_of_kernels("floor_div", {dividend, divisor})[0];
    const Array rest = run_of_kernels("remainder", {dividend, divisor})[0];
    for (size_t i = 0; i < a.size(); ++i) {
      const T q = quotient.as<T>()[i], r = rest.as<T>()[i];
      EXPECT_EQ(static_cast<T>(static_cast<uint64_t>(q) * static_cast<uint64_t>(b[i]) + static_cast<uint64_t>(r)),
                a[i]);
      EXPECT_TRUE(b[i] > 0 ? r >= 0 && r < b[i] : r <= 0 && r > b[i]) << +a[i] << " by " << +b[i];
    }
    const Array edges({4}, std::vector<T>{5, 0, Range::min(), Range::min()});
    const Array by({4}, std::vector<T>{0, 0, static_cast<T>(-1), 0});
    const std::vector<double> found = numbers(run_of_kernels("floor_div", {edges, by})[0]);
    EXPECT_EQ(found[0], static_cast<double>(Range::max()));
    EXPECT_EQ(found[1], 0);
    if (std::is_signed_v<T>) {
      EXPECT_EQ(found[2], static_cast<double>(Range::min()));
    }
    EXPECT_EQ(found[3], static_cast<double>(Range::min()));
    EXPECT_EQ(numbers(run_of_kernels("remainder", {edges, by})[0])[0], 5);
  };
  expect_division(int64_t{});
  expect_division(int32_t{});
  expect_division(uint32_t{});
  expect_division(uint8_t{});
}

TEST(FloorDiv, OfFloatsGoesWithTheRemainder) {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> a{1, -1, 1, 3, -0.3, 5, 6, -6}, b{0.1, 0.1, -0.1, 0.1, 0.1, 2.5, -2, 2};
  while (a.size() < 400) {
    a.push_back(uniform(random) * std::exp(10 * uniform(random)));
    b.push_back(uniform(random));
    if (a.size() % 5 == 0) a.back() = std::round(a.back() * 8) * b.back();  // multiples, except for rounding
  }
  const std::vector<double> q = numbers(run_of_kernels("floor_div", {vector_of(a), vector_of(b)})[0]);
  const std::vector<double> r = numbers(run_of_kernels("remainder", {vector_of(a), vector_of(b)})[0]);
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(fmt::format("{} by {}: {} and {}", a[i], b[i], q[i], r[i]));
    EXPECT_EQ(q[i], std::floor(q[i]));
    EXPECT_TRUE(std::abs(r[i]) <= std::abs(b[i]) && (r[i] == 0 || (r[i] < 0) == (b[i] < 0)));
    EXPECT_NEAR(q[i] * b[i] + r[i], a[i], 4e-16 * std::max(std::abs(a[i]), std::abs(b[i])));
  }
  EXPECT_EQ(q[0], 9);  // 0.1 is above a tenth
  EXPECT_EQ(r[0], std::fmod(1, 0.1));
  const std::vector<double> by_zero =
      numbers(run_of_kernels("floor_div", {vector_of({1, -1, 0}), vector_of({0, 0, 0})})[0]);
  EXPECT_EQ(by_zero[0], kInfinity);
  EXPECT_EQ(by_zero[1], -kInfinity);
  EXPECT_TRUE(std::isnan(by_zero[2]));
  const auto d = gradients("remainder", {vector_of({7, -7}), vector_of({2, 2})}, vector_of({1, 1}));
  EXPECT_EQ(d[0], (std::vector<double>{1, 1}));
  EXPECT_EQ(d[1], (std::vector<double>{-3, 4}));
}

TEST(Power, BoolsAreNoNumbers) {
  const Array yes({1}, std::vector<bool>{true});
  for (const char* name : {"power", "floor_div", "remainder"}) {
    try {
      run_of_kernels(name, {yes, yes});
      ADD_FAILURE() << name;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.kind(), ErrorKind::type);
      EXPECT_EQ(std::string(error.what()),
                fmt::format("[{}] operands are not numbers, got bool[1], expected a float or "
                            "an integer type",
                            name));
    }
  }
}

// Integers wrap around and compare exactly; through f64 their last digits would be lost.
TEST(Pointwise, LargeIntegersAreExact) {
  constexpr int64_t kLarge = (int64_t{1} << 60) + 1;
  const Array a({2}, std::vector<int64_t>{kLarge, kLarge}), b({2}, std::vector<int64_t>{1, kLarge - 1});
  EXPECT_EQ(run_of_kernels("add", {a, b})[0].as<int64_t>()[0], kLarge + 1);
  EXPECT_EQ(run_of_kernels("maximum", {a, b})[0].as<int64_t>()[1], kLarge);
  EXPECT_EQ(numbers(run_of_kernels("equal", {a, b})[0]), (std::vector<double>{0, 0}));
  EXPECT_EQ(numbers(run_of_kernels("greater", {a, b})[0]), (std::vector<double>{1, 1}));
}

// More elements than the reference computes at a time, broadcast, in 16 bits.
TEST(Pointwise, BlocksOfTheReferenceJoin) {
  std::vector<double> rows(7 * 301);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i % 97);
  const Array a({7, 301}, rows), b({7, 1}, std::vector<double>{0, 1, 2, 3, 4, 5, 6});
  const Array sum = run_of_kernels("add", {cast(a, DType::bf16), cast(b, DType::bf16)})[0];
  EXPECT_EQ(sum.type(), (Type{DType::bf16, {7, 301}}));
  for (int64_t i = 0; i < 7 * 301; ++i) EXPECT_EQ(sum.at(i), static_cast<double>(i % 97 + i / 301)) << i;
}

TEST(Argmax, TheFirstNotANumberIsTheLargest) {
  const double nan = std::nan("");
  EXPECT_EQ(run_of_kernels("argmax", {vector_of({1, nan, 5, nan})})[0].at(0), 1);
  EXPECT_EQ(run_of_kernels("first_equal", {vector_of({1, nan, 5, nan}), vector_of({nan})})[0].at(0), 1);
}

TEST(Cast, IntegersClampAndNotANumberBecomesZero) {
  const Array x = vector_of({std::nan(""), 1e30, -1e30, 3.7});
  EXPECT_EQ(numbers(run_of_kernels("cast", {x}, {{"dtype", "u8"}})[0]), (std::vector<double>{0, 255, 0, 3}));
  EXPECT_EQ(numbers(run_of_kernels("cast", {x}, {{"dtype", "i32"}})[0]),
            (std::vector<double>{0, 2147483647, -2147483648.0, 3}));
}

TEST(Iota, RefusesNumbersThatTheTypeDoesNotHold) {
  EXPECT_THROW(run_of_kernels("iota", {}, {{"begin", "9223372036854775807"}, {"shape", "[3]"}}), InvalidArgument);
  EXPECT_THROW(run_of_kernels("iota", {}, {{"begin", "254"}, {"shape", "[3]"}, {"dtype", "u8"}}), InvalidArgument);
  EXPECT_EQ(run_of_kernels("iota", {}, {{"begin", "253"}, {"shape", "[3]"}, {"dtype", "u8"}})[0].at(2), 255);
}

TEST(OneHot, RefusesLabelsOutsideTheClasses) {
  const Array ids({2}, std::vector<int32_t>{1, 4});
  EXPECT_THROW(run_of_kernels("one_hot", {ids}, {{"depth", "4"}, {"classes", "4"}}), InvalidArgument);
  EXPECT_EQ(run_of_kernels("one_hot", {ids}, {{"depth", "4"}})[0].at(7), 0);
}

TEST(Maximum, EqualOperandsSendTheGradientToTheFirst) {
  for (const char* name : {"maximum", "minimum"}) {
    const auto d = gradients(name, {vector_of({2}), vector_of({2})}, vector_of({5}));
    EXPECT_EQ(d, (std::vector<std::vector<double>>{{5}, {0}})) << name;
  }
}

// v = 0.9 v + 0.5 (g + 0.1 w), w - 0.1 (Nesterov: g + 0.1 w + 0.9 v), by hand for w = 1, g = 2, v = 3.
TEST(Momentum, ByHand) {
  const Array rate({}, std::vector<double>{0.1});
  const std::vector<Array> operands{vector_of({1}), vector_of({2}), vector_of({3}), rate};
  FieldTexts fields{{"momentum", "0.9"}, {"dampening", "0.5"}, {"weight_decay", "0.1"}};
  const std::vector<Array> plain = run_of_kernels("momentum", operands, fields);
  EXPECT_DOUBLE_EQ(plain[1].at(0), 3.75);
  EXPECT_DOUBLE_EQ(plain[0].at(0), 1 - 0.1 * 3.75);
  fields.emplace_back("nesterov", "true");
  const std::vector<Array> nesterov = run_of_kernels("momentum", operands, fields);
  EXPECT_DOUBLE_EQ(nesterov[1].at(0), 3.75);
  EXPECT_DOUBLE_EQ(nesterov[0].at(0), 1 - 0.1 * (2.1 + 0.9 * 3.75));
}

// Both positions of epsilon by hand, for g = 1e-5 and the second step, where it matters most.
TEST(Adam, EpsilonIsAddedBeforeOrAfterTheCorrection) {
  const double g = 1e-5, m = 2e-6, v = 3e-12, rate = 0.1, epsilon = 1e-6;
  const std::vector<Array> operands{vector_of({1}),
                                    vector_of({g}),
                                    vector_of({m}),
                                    vector_of({v}),
                                    Array({}, std::vector<double>{rate}),
                                    Array({}, std::vector<int64_t>{1})};
  const double first = 0.9 * m + 0.1 * g, root = std::sqrt(0.999 * v + 0.001 * g * g);
  const double scale1 = 1 - 0.9 * 0.9, scale2 = std::sqrt(1 - 0.999 * 0.999);
  FieldTexts fields{{"epsilon", "1e-6"}};
  const double after = run_of_kernels("adam", operands, fields)[0].at(0);
  EXPECT_NEAR(after, 1 - rate * (first / scale1) / (root / scale2 + epsilon), 1e-15);
  fields.emplace_back("biased_epsilon", "true");
  const double before = run_of_kernels("adam", operands, fields)[0].at(0);
  EXPECT_NEAR(before, 1 - rate * scale2 / scale1 * first / (root + epsilon), 1e-15);
  EXPECT_GT(before - after, 0.005);
}

TEST(Dropout, KeepsTheMeanAndDropsAtItsRate) {
  const Array ones({100, 100}, std::vector<double>(10000, 1.0));
  const Array step({}, std::vector<int64_t>{3});
  const std::vector<double> y = numbers(run_of_kernels("dropout", {ones, step}, {{"rate", "0.25"}, {"key", "9"}})[0]);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(y, 0.0)), 2500, 5 * 43.3);  // five standard deviations
  EXPECT_EQ(std::ranges::count(y, 1 / 0.75) + std::ranges::count(y, 0.0), 10000);
  const Array next({}, std::vector<int64_t>{4});
  EXPECT_NE(y, numbers(run_of_kernels("dropout", {ones, next}, {{"rate", "0.25"}, {"key", "9"}})[0]));
}

TEST(Ids, OutsideTheTableAreRefusedOrEmpty) {
  const Array table({2, 1}, std::vector<double>{5, 6});
  for (int64_t id : {std::numeric_limits<int64_t>::lowest(), int64_t{-1}, int64_t{4}}) {
    const Array ids({1}, std::vector<int64_t>{id});
    EXPECT_THROW(run_of_kernels("embedding", {table, ids}, {{"begin", "1"}, {"rows", "4"}}), InvalidArgument);
    EXPECT_THROW(
        run_of_kernels("scatter_rows", {ids, Array({1, 1}, std::vector<double>{1})}, {{"rows", "4"}, {"total", "4"}}),
        InvalidArgument);
    const Array hot = run_of_kernels("one_hot", {ids}, {{"depth", "2"}, {"begin", "1"}, {"off_value", "7"}})[0];
    EXPECT_EQ(numbers(hot), (std::vector<double>{7, 7}));
    EXPECT_EQ(run_of_kernels("pick", {Array({1, 2}, std::vector<double>{5, 6}), ids}, {{"begin", "1"}})[0].at(0), 0);
  }
}

TEST(Infer, RefusesAttributesThatTheKernelCannotTake) {
  const Array x({2, 3}, std::vector<double>(6, 1.0)), step({}, std::vector<int64_t>{0});
  const Array ids({1}, std::vector<int64_t>{0}), row({1, 1}, std::vector<double>{1});
  const Array row_of_3({1, 3}, std::vector<double>(3, 1.0));
  const std::string huge = "9223372036854775807";
  const auto refused = [](const std::string& op, const std::vector<Array>& inputs, const FieldTexts& fields) {
    EXPECT_THROW(run_of_kernels(op, inputs, fields), InvalidArgument) << op;
  };
  refused("constant", {}, {{"shape", "[4294967296,4294967296]"}});
  refused("constant", {}, {{"shape", "[-1]"}});
  refused("constant", {}, {{"value", "300"}, {"dtype", "u8"}});
  refused("constant", {}, {{"value", "nan"}, {"dtype", "i32"}});
  refused("iota", {}, {{"shape", "[" + huge + "]"}});
  refused("reshape", {x}, {{"shape", "[-2,-3]"}});
  refused("broadcast_to", {x}, {{"shape", "[" + huge + ",2,3]"}});
  refused("pad", {x}, {{"before", "[" + huge + ",0]"}, {"after", "[" + huge + ",0]"}});
  refused("slice", {x}, {{"begin", "[0,2]"}, {"end", "[2,4]"}});
  refused("transpose", {x}, {{"perm", "[0,0]"}});
  refused("concat", {x, x}, {{"axis", "2"}});
  refused("reduce", {x}, {{"axes", "[0,0]"}});
  refused("dropout", {x, step}, {{"rate", "1"}});
  refused("dropout", {x, step}, {{"whole", "[4,4]"}, {"begin", "[" + huge + ",0]"}});
  refused("random", {step}, {{"shape", "[2]"}, {"whole", "[4]"}, {"begin", "[" + huge + "]"}});
  refused("random", {step}, {{"distribution", "\"cauchy\""}});
  refused("one_hot", {ids}, {{"depth", huge}});
  refused("scatter_rows", {ids, row}, {{"rows", "-1"}});
  refused("scatter_rows", {ids, row}, {{"rows", "3"}, {"total", "2"}});
  refused("embedding", {x, ids}, {{"begin", "3"}, {"rows", "4"}});
  refused("reshape", {x}, {{"shape", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,3]"}});  // 21 dimensions
  const Array planes({1, 1, 2, 2}, std::vector<double>(4, 1.0)), filter({1, 1, 3, 3}, std::vector<double>(9, 1.0));
  for (const std::string& size : {huge, std::string("576460752303423488"), std::string("-1")}) {
    refused("conv2d_grad_input", {planes, filter}, {{"pads", "[1,1,1,1]"}, {"size", "[" + size + ",4]"}});
  }
  for (const char* classes : {"-9223372036854775808", "-1", "0", "2"}) {
    refused("cross_entropy_grad", {row_of_3, ids, row, row}, {{"classes", classes}});
  }
}

}  // namespace
}  // namespace partita
