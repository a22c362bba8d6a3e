// Attention to other rows, and with a bias on its scores.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "ir/ops/attention/attention.h"
#include "ir/ops/registry.h"
#include "runtime/execute/interpreter.h"

namespace partita {
namespace {

Array random_rows(const Shape& shape, const std::string& name) {
  Array rows(Type{DType::f64, shape});
  for (int64_t i = 0; i < elements(shape); ++i) rows.set(i, random_normal(random_key(3, name), i, 0));
  return rows;
}

using MakeOutput = std::function<Value(Context&, const std::vector<Value>&)>;

/// Returns the results of a network on random inputs of these shapes with initial parameters.
Array run_attention(const std::vector<Shape>& shapes, const MakeOutput& make) {
  Builder builder(all_ops());
  Context context(builder, {.dtype = DType::f64});
  std::vector<Value> inputs;
  std::map<std::string, Array> given;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string name = fmt::format("x{}", i);
    inputs.push_back(builder.input(name, {DType::f64, shapes[i]}));
    given.emplace(name, random_rows(shapes[i], name));
  }
  builder.output("y", make(context, inputs));
  for (const State& state : builder.graph().states) {
    const std::string& name = builder.graph().values[state.entry].name;
    given.emplace(name, random_rows(builder.graph().type(state.entry).shape, name));
  }
  return interpret_all(builder.graph(), all_ops(), given).outputs.at("y");
}

MakeOutput through(MultiHeadAttention& layer) {
  return [&layer](Context& context, const std::vector<Value>& inputs) { return context.call_network(layer, inputs); };
}

void expect_near_attention(const Array& a, const Array& b) {
  ASSERT_EQ(a.type(), b.type());
  for (int64_t i = 0; i < a.type().elements(); ++i) EXPECT_NEAR(a.at(i), b.at(i), 1e-12) << i;
}

TEST(AttentionInputs, OtherRowsOfAnotherWidth) {
  MultiHeadAttention layer(2, {.head_width = 3, .scale = 0.5, .bias = false});
  const Array y = run_attention({{2, 3, 4}, {2, 5, 7}}, through(layer));
  const Array oracle = run_attention({{2, 3, 4}, {2, 5, 7}}, [](Context& context, const std::vector<Value>& inputs) {
    const auto product = [&](Value x, const char* name, const Shape& shape) {
      const Value weight = context.parameter(name, shape, Initializer{InitKind::ones, {}});
      return matmul(x, weight, /*transpose_a=*/false, /*transpose_b=*/true);
    };
    const Value q = product(inputs[0], "q.weight", {6, 4}), k = product(inputs[1], "k.weight", {6, 7});
    const Value v = product(inputs[1], "v.weight", {6, 7});
    const AttentionAttrs attrs{.heads = 2, .scale = 0.5};
    return product(context.builder().apply_all("attention", {q, k, v}, attrs)[0], "proj.weight", {4, 6});
  });
  EXPECT_EQ(y.type().shape, (Shape{2, 3, 4}));
  expect_near_attention(y, oracle);
}

/// Self-attention of x with the bias `of_later_keys` on the scores of later keys.
MakeOutput with_bias(MultiHeadAttention& layer, double of_later_keys) {
  return [&layer, of_later_keys](Context& context, const std::vector<Value>& inputs) {
    const int64_t seq = inputs[0].shape()[1];
    const auto positions = [&](int64_t axis) {
      return context.builder().apply("iota", {}, IotaAttrs{.axis = axis, .dtype = DType::f64, .shape = {2, seq, seq}});
    };
    const Value later = cast(less(positions(1), positions(2)), DType::f64);
    return context.call_network(layer, {inputs[0], inputs[0], later * of_later_keys});
  };
}

TEST(AttentionInputs, ABiasOfZeroIsNone) {
  MultiHeadAttention fused(2), biased(2);
  expect_near_attention(run_attention({{2, 5, 6}}, with_bias(biased, 0)), run_attention({{2, 5, 6}}, through(fused)));
}

TEST(AttentionInputs, ABiasMayHideKeys) {
  MultiHeadAttention fused(2, {.causal = true}), biased(2);
  expect_near_attention(run_attention({{2, 5, 6}}, with_bias(biased, -1e9)),
                        run_attention({{2, 5, 6}}, through(fused)));
}

std::string refusal_of(MultiHeadAttention layer, size_t inputs) {
  try {
    run_attention(std::vector<Shape>(inputs, Shape{2, 4, 6}), through(layer));
    return "";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

TEST(AttentionInputs, OthersAreRefused) {
  const std::string neither =
      "[attention] a bias cannot be combined with causal masking or fewer heads of keys and values, got causal=";
  EXPECT_NE(refusal_of(MultiHeadAttention(2, {.causal = true}), 3).find(neither + "true and 2 of 2"),
            std::string::npos);
  EXPECT_NE(refusal_of(MultiHeadAttention(2, {.kv_heads = 1}), 3).find(neither + "false and 1 of 2"),
            std::string::npos);
  EXPECT_NE(refusal_of(MultiHeadAttention(2), 4).find("[attention] wrong number of inputs, got 4"), std::string::npos);
}

// Weight b of head 0 is b, so the bias is the bucket. Keys after the query are hidden.
TEST(RelativeBiasLayer, LooksUpDistances) {
  const auto bias_of = [](bool causal) {
    RelativeBias layer(1, {.causal = causal, .buckets = 4, .furthest = 8});
    Builder builder(all_ops());
    Context context(builder, {.dtype = DType::f64});
    builder.output("y", context.call_network(layer, builder.input("x", {DType::f64, {2, 4, 3}})));
    return interpret_all(
               builder.graph(), all_ops(),
               {{"x", random_rows({2, 4, 3}, "x")}, {"weight", Array(Shape{4, 1}, std::vector<double>{0, 1, 2, 3})}})
        .outputs.at("y");
  };
  const Array both = bias_of(false), causal = bias_of(true);
  ASSERT_EQ(both.type().shape, (Shape{1, 4, 4}));
  const std::vector<double> last_both{1, 1, 1, 0}, last_causal{2, 2, 1, 0}, first_both{0, 3, 3, 3};
  for (int64_t k = 0; k < 4; ++k) {
    EXPECT_EQ(both.at(12 + k), last_both[k]) << k;
    EXPECT_EQ(both.at(k), first_both[k]) << k;
    EXPECT_EQ(causal.at(12 + k), last_causal[k]) << k;
    EXPECT_EQ(causal.at(k), k == 0 ? 0 : -1e9) << k;
  }
}

TEST(TransformerBlockNorms, FollowTheSums) {
  TransformerBlock block(2, {.norm_first = false});
  const Array y = run_attention({{2, 3, 4}}, [&](Context& context, const std::vector<Value>& inputs) {
    return context.call_network(block, inputs[0]);
  });
  // Random weights scale what was normalized, so the block is checked with the norm's initial ones.
  Builder builder(all_ops());
  Context context(builder, {.dtype = DType::f64});
  TransformerBlock fresh(2, {.norm_first = false});
  builder.output("y", context.call_network(fresh, builder.input("x", {DType::f64, {2, 3, 4}})));
  std::map<std::string, Array> given{{"x", random_rows({2, 3, 4}, "x")}};
  for (const State& state : builder.graph().states) {
    const std::string& name = builder.graph().values[state.entry].name;
    given.emplace(name, make_initial(state.init, builder.graph().type(state.entry), random_key(1, name)));
  }
  const Array normal = interpret_all(builder.graph(), all_ops(), given).outputs.at("y");
  for (int64_t row = 0; row < 6; ++row) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < 4; ++i) {
      sum += normal.at(row * 4 + i);
      squares += normal.at(row * 4 + i) * normal.at(row * 4 + i);
    }
    EXPECT_NEAR(sum, 0, 1e-9) << row;
    EXPECT_NEAR(squares, 4, 1e-3) << row;
  }
  EXPECT_EQ(y.type(), normal.type());
}

}  // namespace
}  // namespace partita
