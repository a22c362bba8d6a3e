// Values and errors of attention, its parts and rotary positions of several heads.

#include "ir/ops/attention/attention.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/philox.h"
#include "ir/graph/builder.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"
#include "ir/ops/shape/attrs.h"
#include "runtime/execute/interpreter.h"

namespace partita {
namespace {

/// A graph of inputs with random values.
class AttentionGraph {
 public:
  Value input(const std::string& name, const Shape& shape) {
    Array array(Type{DType::f64, shape});
    for (int64_t i = 0; i < array.type().elements(); ++i) array.set(i, random_normal(random_key(3, name), i, 0));
    const Value value = builder.input(name, array.type());
    given_.insert_or_assign(name, std::move(array));
    return value;
  }

  /// Returns the largest difference of two values.
  double difference(Value a, Value b) {
    builder.output("difference", builder.apply("reduce", {builder.apply("abs", {builder.apply("sub", {a, b})})},
                                               ReduceAttrs{.kind = Reduce::max, .axes = {0, 1, 2}}));
    return interpret(builder.graph(), all_ops(), given_).at(0).at(0);
  }

  Builder builder{all_ops()};

 private:
  std::map<std::string, Array> given_;
};

TEST(Attention, OfGroupedHeadsRepeatsKeysAndValues) {
  AttentionGraph graph;
  Builder& builder = graph.builder;
  const Value q = graph.input("q", {2, 5, 12}), k = graph.input("k", {2, 5, 4}), v = graph.input("v", {2, 5, 6});
  const auto repeated = [&](Value x, int64_t width) {  // [2, 5, 2 heads of width] with each head three times
    const Value split = builder.apply("reshape", {x}, ReshapeAttrs{.shape = {2, 5, 2, 1, width}});
    const Value wide = builder.apply("broadcast_to", {split}, BroadcastAttrs{.shape = {2, 5, 2, 3, width}});
    return builder.apply("reshape", {wide}, ReshapeAttrs{.shape = {2, 5, 6 * width}});
  };
  const Value grouped =
      builder.apply_all("attention", {q, k, v}, AttentionAttrs{.heads = 6, .causal = true, .kv_heads = 2})[0];
  const Value each = builder.apply_all("attention", {q, repeated(k, 2), repeated(v, 3)},
                                       AttentionAttrs{.heads = 6, .causal = true})[0];
  EXPECT_LT(graph.difference(grouped, each), 1e-14);
}

TEST(Attention, RotaryTurnsEachHead) {
  AttentionGraph graph;
  Builder& builder = graph.builder;
  const Value x = graph.input("x", {2, 5, 12});
  const Value heads = builder.apply("reshape", {x}, ReshapeAttrs{.shape = {2, 5, 3, 4}});
  const TransposeAttrs swap{.perm = {0, 2, 1, 3}};
  const Value alone =
      builder.apply("rotary", {builder.apply("transpose", {heads}, swap)}, RotaryAttrs{.base = 50, .begin = 2});
  const Value merged =
      builder.apply("reshape", {builder.apply("transpose", {alone}, swap)}, ReshapeAttrs{.shape = {2, 5, 12}});
  const Value together = builder.apply("rotary", {x}, RotaryAttrs{.base = 50, .begin = 2, .heads = 3});
  EXPECT_LT(graph.difference(together, merged), 1e-14);
}

// For keys that no query sees, a shard has the smallest float as maximum, below any score, and sums of zero.
TEST(Attention, OfKeysAfterAllQueriesAddsNothing) {
  AttentionGraph graph;
  Builder& builder = graph.builder;
  const Value q = graph.input("q", {1, 3, 4}), k = graph.input("k", {1, 2, 4}), m = graph.input("m", {1, 2, 3});
  const AttentionAttrs attrs{.heads = 2, .causal = true, .begin = -3};
  const Value largest = builder.apply("attention_max", {q, k}, attrs);
  const std::vector<Value> sums = builder.apply_all("attention_sums", {q, k, k, m}, attrs);
  const auto constant_of = [&](Value like, double value) {
    return builder.apply("scale", {like}, ScaleAttrs{.scale = 0, .bias = value});
  };
  EXPECT_EQ(graph.difference(largest, constant_of(m, std::numeric_limits<double>::lowest())), 0);
  EXPECT_EQ(graph.difference(sums[0], constant_of(q, 0)), 0);
  EXPECT_EQ(graph.difference(sums[1], constant_of(m, 0)), 0);
}

struct AttentionRefusal {
  std::string op;
  std::vector<Shape> operands;
  Attrs attrs;
  std::string message;
};

TEST(Attention, RefusesWhatDoesNotFit) {
  const Shape row{2, 4, 6};
  const auto attention = [](AttentionAttrs attrs) { return Attrs(attrs); };
  const std::vector<AttentionRefusal> refusals{
      {"attention", {row, {2, 5, 4}, row}, attention({.heads = 2}), "[attention] q, k and v do not fit"},
      {"attention", {row, {2, 4, 4}, {2, 4, 4}}, attention({.heads = 2}), "[attention] q, k and v do not fit"},
      {"attention", {row, row, row}, attention({.heads = 4}), "[attention] heads do not divide the width"},
      {"attention",
       {row, row, row},
       attention({.heads = 6, .kv_heads = 4}),
       "[attention] heads of k and v do not divide those of q, got 4 of 6, expected a divisor of 6"},
      {"attention",
       {row, {2, 4, 2}, {2, 4, 2}},
       attention({.heads = 6, .kv_heads = 1}),
       "[attention] heads of q and k differ in width"},
      {"attention",
       {row, row, row},
       attention({.heads = 2, .begin = -1}),
       "[attention] the first query sees no key, got begin -1, expected 0 or more"},
      {"attention", {row, row, row}, attention({.heads = -2}), "[attention] bad attributes"},
      {"attention", {row, {2, 0, 6}, {2, 0, 6}}, attention({.heads = 2}), "[attention] there are no keys"},
      {"attention_max", {row, {2, 4, 4}}, attention({.heads = 2}), "[attention_max] q, k and v do not fit"},
      {"attention_sums",
       {row, row, row, {2, 2, 3}},
       attention({.heads = 2}),
       "[attention_sums] operand 3 does not fit q"},
      {"attention_finish", {row, {2, 2, 4}, {2, 2, 3}}, {}, "[attention_finish] operands do not fit"},
      {"attention_finish", {row, {2, 4, 4}, {2, 4, 4}}, {}, "[attention_finish] operands do not fit"},
      {"attention_grad",
       {row, row, row, row, {2, 2, 3}, row},
       attention({.heads = 2}),
       "[attention_grad] operands do not fit q, k and v"},
      {"rotary", {row}, Attrs(RotaryAttrs{.heads = 0}), "[rotary] bad number of heads, got 0, expected at least 1"},
      {"rotary", {row}, Attrs(RotaryAttrs{.heads = 2}), "[rotary] operand has no pairs, got 2 heads of f64[2,4,6]"},
      {"matmul_rows", {row, {2, 5, 6}}, {}, "[matmul_rows] shapes do not fit"},
      {"matmul_rows", {{6}, {6}}, {}, "[matmul_rows] shapes do not fit"}};
  for (const auto& [op, shapes, attrs, message] : refusals) {
    Builder builder(all_ops());
    std::vector<Value> operands;
    for (const Shape& shape : shapes) {
      operands.push_back(builder.input(fmt::format("x{}", operands.size()), {DType::f64, shape}));
    }
    try {
      builder.apply_all(op, operands, attrs);
      ADD_FAILURE() << "accepted, expected " << message;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace partita
