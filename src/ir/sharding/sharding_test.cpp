#include "ir/sharding/sharding.h"

#include <gtest/gtest.h>

#include "base/op_call.h"
#include "ir/sharding/test_call.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

const Mesh kOneAxis({{"p", 8}});
const Mesh kTwoAxes({{"x", 2}, {"y", 3}});

TEST(Sharding, MatmulOnEightRanks) {
  const TestCall call{{}, {f64({4, 8}), f64({8, 6})}, {f64({4, 6})}};
  const ShardingRule rule = einsum("ik,kj->ij", call.call());
  const Cut cut{{0}, {1, 2}, {}};
  EXPECT_EQ(illegal(rule, cut, kOneAxis), "");
  const Shard local = shard(rule, cut, kOneAxis, kOneAxis.coordinates(5), call.call());
  EXPECT_EQ(local.inputs[0], (Box{{2, 4, 4}, {2, 4, 8}}));
  EXPECT_EQ(local.inputs[1], (Box{{2, 4, 8}, {0, 6, 6}}));
  EXPECT_EQ(local.outputs[0], (Box{{2, 4, 4}, {0, 6, 6}}));
  const Sharding output = output_sharding(rule, cut, 0);
  EXPECT_EQ(print(f64({4, 6}), output, kOneAxis), "f64[4{p.0},6] +sum{p.1,p.2}");
  EXPECT_FALSE(output.replicated());
  std::vector<int64_t> columns;
  for (int64_t i = 0; i < 4; ++i) columns.push_back(chunk(6, i, 4).count());
  EXPECT_EQ(columns, (std::vector<int64_t>{1, 2, 1, 2}));
}

TEST(Sharding, EmbeddingRows) {
  const TestCall call{{}, {f64({10, 4}), {DType::i32, {6}}}, {f64({6, 4})}};
  const ShardingRule rule = einsum("vz,a->az | v:lookup", call.call());
  const Mesh mesh({{"p", 4}});
  std::vector<int64_t> begins;
  for (int64_t rank = 0; rank < 4; ++rank) {
    begins.push_back(shard(rule, {{0, 1}, {}, {}}, mesh, mesh.coordinates(rank), call.call()).factors[0].begin);
  }
  EXPECT_EQ(begins, (std::vector<int64_t>{0, 2, 5, 7}));
}

TEST(Sharding, HeldIsTheShardOfALegalCut) {
  const TestCall call{{}, {f64({2, 3, 8})}, {f64({2, 3, 4, 2})}};
  const ShardingRule rule = reshape_rule({2, 3, 8}, {2, 3, 4, 2});
  const Mesh mesh({{"x", 2}, {"y", 4}});
  for (const Cut& cut : {Cut{{0}, {}, {1, 2}, {}}, Cut{{}, {}, {1, 2}, {0}}, Cut{{1}, {2}, {0}, {}}}) {
    ASSERT_EQ(illegal(rule, cut, mesh), "");
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      const auto at = mesh.coordinates(rank);
      const Shard part = shard(rule, cut, mesh, at, call.call());
      EXPECT_EQ(part.inputs[0], local_ranges(call.inputs[0], {dims_from_factors(rule, cut, rule.inputs[0])}, mesh, at));
      EXPECT_EQ(part.outputs[0],
                local_ranges(call.outputs[0], {dims_from_factors(rule, cut, rule.outputs[0])}, mesh, at));
    }
  }
}

TEST(Sharding, BadTextsAreRefused) {
  const Mesh mesh({{"data", 4}, {"model", 2}});
  const Type type{DType::f32, {8, 6}};
  const auto refused = [&](const std::string& text) -> std::string {
    try {
      return print(type, parse_sharding(text, type, mesh), mesh);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refused("f32[8{data.0,data.1},6{model|s1d1k3p1n6t}]"), "f32[8{data.0,data.1},6{model|s1d1k3p1n6t}]");
  EXPECT_EQ(refused("f32[8,6] +max{model}"), "f32[8,6] +max{model}");
  EXPECT_EQ(refused("f32[8]"), "[sharding] unexpected text, got ']', expected ','");
  EXPECT_EQ(refused("f32[8,5]"), "[sharding] another size, got 'f32[8,5]', expected the 2 dimensions of f32[8,6]");
  EXPECT_EQ(refused("f32[8,6,1]"), "[sharding] unexpected text, got ',1]', expected the 2 dimensions of f32[8,6]");
  EXPECT_EQ(refused("f32[8{},6]"), "f32[8,6]");
  EXPECT_EQ(refused("f32[8{model,6]"), "[sharding] unexpected text, got '{model,6]', expected '}' after it");
  EXPECT_EQ(refused("f32[8{pipe},6]"), "[mesh] unknown axis, got 'pipe', expected one of data.0 data.1 model");
  EXPECT_EQ(refused("f32[8{model},6{model}]"),
            "[sharding] an axis is used twice, got 'f32[8{model},6{model}]', expected each axis once");
  EXPECT_EQ(
      refused("f32[8,6{data.0,data.1,model}]"),
      "[sharding] fewer elements than parts, got 'f32[8,6{data.0,data.1,model}]', expected at most one part each");
  EXPECT_EQ(refused("f32[8{model|s0d1k3p1n6},6]"),
            "[sharding] bad number, got '0d1k3p1n6', expected 1 to 2147483647");
  EXPECT_EQ(refused("f32[8{model|s1d1k3p1n2147483648},6]"),
            "[sharding] bad number, got '2147483648', expected 1 to 2147483647");
  EXPECT_EQ(refused("f32[8{data.0,data.1|s1d1k3p1n3},6]"),
            "[sharding] fewer elements than parts, got 'f32[8{data.0,data.1|s1d1k3p1n3},6]', expected at most one part "
            "each");
  EXPECT_EQ(refused("f32[8{modal},6]"),
            "[mesh] unknown axis, got 'modal', expected one of data.0 data.1 model, did you mean 'model'?");
  EXPECT_EQ(refused("f32[8{model|s1d1k3},6]"), "[sharding] unexpected text, got '', expected 'p'");
  EXPECT_EQ(refused("f32[8,6] +none{model}"), "[sharding] not a reduction, got 'none', expected sum, max or min");
  EXPECT_EQ(refused("f32[8,6] +sum{}"),
            "[sharding] a reduction over no axis, got 'f32[8,6] +sum{}', expected at least one axis");
  EXPECT_EQ(refused("f32[8,6] +mean{model}"), "[attribute] bad value, got mean, expected sum, max or min");
  EXPECT_EQ(refused("f32[8,6] +max{model} more"),
            "[sharding] unexpected text, got 'more', expected the end of the line");
}

TEST(Illegal, EachRule) {
  const TestCall call{{}, {f64({2, 3, 8})}, {f64({2, 3, 4, 2})}};
  const ShardingRule rule = reshape_rule({2, 3, 8}, {2, 3, 4, 2});
  const Mesh mesh({{"x", 2}, {"y", 4}, {"z", 3}});  // 2, 2, 2, 3
  EXPECT_EQ(illegal(rule, {{0}, {0}, {}, {}}, mesh), "axis x cuts two factors or one twice");
  EXPECT_EQ(illegal(rule, {{3}, {}, {}, {}}, mesh), "factor a of 2 is cut 3 ways");
  EXPECT_EQ(illegal(rule, {{}, {}, {0}, {1}}, mesh), "factor d is cut and c before it is not cut down to 1");
  EXPECT_EQ(illegal(rule, {{}, {}, {3}, {}}, mesh), "factor c of 4 in a compound dimension is cut 3 ways");
  EXPECT_EQ(illegal(rule, {{}, {0}, {1}, {}}, mesh), "");  // 3 is alone in its dimension: uneven
  EXPECT_EQ(illegal(reshape_rule({4, 3}, {3, 4}), {{0}, {}, {}, {}}, mesh), "factor a is whole");
  const TestCall two{{}, {f64({4, 4})}, {f64({})}};
  EXPECT_EQ(illegal(einsum("ab-> | b:max", two.call()), {{0}, {1}}, mesh),
            "an output would be partial by sum over a and by max over b");
}

TEST(FactorsFromDims, ConsumesMajorFirst) {
  const ShardingRule rule = reshape_rule({2, 3, 4, 2}, {6, 8});
  const Mesh mesh({{"x", 2}, {"y", 2}, {"z", 2}, {"t", 3}});
  using Factors = std::vector<std::pair<int, Axes>>;
  EXPECT_EQ(factors_from_dims(rule, rule.outputs[0][1], {0, 1, 2}, mesh), (Factors{{2, {0, 1}}, {3, {2}}}));
  EXPECT_EQ(factors_from_dims(rule, rule.outputs[0][0], {0, 3}, mesh), (Factors{{0, {0}}, {1, {3}}}));
  EXPECT_EQ(factors_from_dims(rule, rule.outputs[0][0], {3}, mesh), std::nullopt);
  EXPECT_EQ(factors_from_dims(rule, rule.outputs[0][0], {}, mesh), Factors{});
  const ShardingRule plain = reshape_rule({5}, {5});
  EXPECT_EQ(factors_from_dims(plain, plain.inputs[0][0], {3}, mesh), (Factors{{0, {3}}}));
  EXPECT_EQ(factors_from_dims(plain, plain.inputs[0][0], {0, 3}, mesh), std::nullopt);
  EXPECT_EQ(factors_from_dims(plain, DimMap{}, {0}, mesh), std::nullopt);
}

TEST(FactorsFromDims, UndoesDimsFromFactors) {
  const ShardingRule rule = reshape_rule({2, 3, 8}, {2, 3, 4, 2});
  const Mesh mesh({{"x", 2}, {"y", 4}});
  const Cut cut{{}, {}, {1, 0}, {2}};
  ASSERT_EQ(illegal(rule, cut, mesh), "");
  const std::vector<Axes> dims = dims_from_factors(rule, cut, rule.inputs[0]);
  EXPECT_EQ(dims[2], (Axes{1, 0, 2}));
  const auto factors = factors_from_dims(rule, rule.inputs[0][2], dims[2], mesh);
  ASSERT_TRUE(factors.has_value());
  EXPECT_EQ(*factors, (std::vector<std::pair<int, Axes>>{{2, {1, 0}}, {3, {2}}}));
}

TEST(NeedsExpansion, OnlyWhenAMarkedFactorIsCut) {
  const TestCall call{{}, {f64({4, 6})}, {f64({4, 6})}};
  const ShardingRule rule = einsum("az->az | z:expand", call.call());
  EXPECT_FALSE(needs_expansion(rule, {{0}, {}}));
  EXPECT_TRUE(needs_expansion(rule, {{}, {1}}));
  EXPECT_EQ(illegal(rule, {{0}, {1}}, kTwoAxes), "");
}

}  // namespace
}  // namespace partita
