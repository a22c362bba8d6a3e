#include "network/functions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "execute/interpreter.h"
#include "network/layer.h"
#include "ops/registry.h"

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
  EXPECT_EQ(f.builder.source, SourceLine{});
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
