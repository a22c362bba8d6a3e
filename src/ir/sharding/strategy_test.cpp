#include "ir/sharding/strategy.h"

#include <gtest/gtest.h>

#include "base/op_call.h"
#include "ir/sharding/test_call.h"

namespace partita {
namespace {

/// A node with its rule.
struct Target {
  Attrs attrs;
  std::vector<Type> inputs, outputs;
  ShardingRule rule;

  Target(const std::string& text, std::vector<Type> in, std::vector<Type> out)
      : inputs(std::move(in)), outputs(std::move(out)), rule(einsum(text, OpCall{attrs, inputs, outputs})) {}

  Cut cut(const std::string& strategy, const Mesh& mesh) const {
    return cut_of({.inputs = parse_strategy(strategy)}, {"matmul (test.cpp:1)", rule, inputs, outputs}, mesh).cut;
  }
  void refuses(const std::string& strategy, const Mesh& mesh, const std::string& part) const {
    try {
      cut(strategy, mesh);
      ADD_FAILURE() << strategy << " is taken";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
};

const Mesh kEight({{"p", 8}}), kSix({{"p", 6}}), kTwelve({{"p", 12}});
const Target kMatmul("ik,kj->ij", {f64({4, 8}), f64({8, 6})}, {f64({4, 6})});

TEST(Strategy, RanksAreRowMajor) {
  // rank = 4 i + k: the sum over k is within the groups (0,1,2,3) and (4,5,6,7).
  const Cut cut = kMatmul.cut("((2,4),(4,1))", kEight);
  EXPECT_EQ(cut, (Cut{{0}, {1, 2}, {}}));
  EXPECT_EQ(kEight.group(1, cut[1]), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(kEight.group(6, cut[1]), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(print(strategy_of(kMatmul.rule, cut, kEight)), "((2, 4), (4, 1))");
}

TEST(Strategy, AnyNumberOfRanks) {
  EXPECT_EQ(kMatmul.cut("((2,1),(1,3))", kSix), (Cut{{1}, {}, {0}}));  // axes of fitting size: 3, then 2
  EXPECT_EQ(kMatmul.cut("((4,1),(1,3))", kTwelve), (Cut{{1, 2}, {}, {0}}));
  EXPECT_EQ(kMatmul.cut("((1,1),(1,1))", kTwelve), (Cut{{}, {}, {}}));
  EXPECT_EQ(kMatmul.cut("((2,1),(1,1))", kEight), (Cut{{0}, {}, {}}));     // the rest is repeated
  EXPECT_EQ(kMatmul.cut("((1,1),(1,4))", kEight), (Cut{{}, {}, {0, 1}}));  // 6 columns in 4 parts
}

TEST(Strategy, ResultsMayLieOtherwise) {
  const auto annotated = [](const std::string& annotation, const Mesh& mesh) {
    return cut_of(parse_annotation(annotation), {"m", kMatmul.rule, kMatmul.inputs, kMatmul.outputs}, mesh);
  };
  EXPECT_EQ(annotated("((2,4),(4,1))", kEight).results, std::vector<std::vector<Axes>>{});
  EXPECT_EQ(annotated("((2,2),(2,1))->((4,1))", kEight).results[0], (std::vector<Axes>{{0, 1}, {}}));
  EXPECT_EQ(annotated("((2,4),(4,1))->((2,4))", kEight).results[0], (std::vector<Axes>{{0}, {1, 2}}));
  EXPECT_EQ(annotated("((2,4),(4,1))->((1,1))", kEight).results[0], (std::vector<Axes>{{}, {}}));
  EXPECT_THROW(annotated("((2,4),(4,1))->((8,1))", kEight), InvalidArgument);  // 4 rows
  EXPECT_THROW(annotated("[p=8]((None,None),(None,None))->((p,None))", kEight), InvalidArgument);
  EXPECT_THROW(annotated("((2,1),(1,1))->((4,1))", kEight), InvalidArgument);
  EXPECT_THROW(annotated("((2,4),(4,1))->((2))", kEight), InvalidArgument);
  const Target one_hot("a->az", {f64({6})}, {f64({6, 8})});
  const ShardingAnnotation depth = parse_annotation("((2))->((2,4))");
  EXPECT_EQ(cut_of(depth, {"m", one_hot.rule, one_hot.inputs, one_hot.outputs}, kEight).cut, (Cut{{0}, {1, 2}}));
}

TEST(Strategy, NamesAreAxesOfTheMesh) {
  const auto annotated = [](const std::string& annotation, const Mesh& mesh) {
    return cut_of(parse_annotation(annotation), {"m", kMatmul.rule, kMatmul.inputs, kMatmul.outputs}, mesh);
  };
  EXPECT_EQ(annotated("[dp=2,mp=4]((mp,dp),(dp,None))", kEight).cut, (Cut{{1, 2}, {0}, {}}));
  EXPECT_EQ(annotated("[a=2,b=2,c=2]((None,c+a),(c+a,b))->((a,b))", kEight).cut, (Cut{{}, {2, 0}, {1}}));
  EXPECT_EQ(annotated("[a=2,b=2,c=2]((None,c+a),(c+a,b))->((a,b))", kEight).results[0], (std::vector<Axes>{{0}, {1}}));
  EXPECT_EQ(annotated("[a=3,b=1,c=2]((c,None),(None,a))", kSix).cut, (Cut{{1}, {}, {0}}));
  for (const char* bad : {"[a=2,b=2]((a,b),(b,None))", "[a=2,b=3]((a,None),(None,b))", "[a=6]((a,None),(None,None))"}) {
    EXPECT_THROW(annotated(bad, kSix), InvalidArgument) << bad;
  }
  const Mesh reversed({{"p", 2}}, {1, 0});
  EXPECT_EQ(annotated("[p=2,ranks=(1,0)]((p,None),(None,None))", reversed).cut, (Cut{{0}, {}, {}}));
  try {
    annotated("[p=2]((p,None),(None,None))", reversed);
    ADD_FAILURE();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(
        error.what(),
        "[shard] m: the layout has another order of the ranks than the mesh, got ascending order, expected (1,0)");
  }
  try {
    annotated("[a=2,b=2,c=2]((a,b),(c,None))", kEight);
    ADD_FAILURE();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("is cut by other axes than the same index before"), std::string::npos);
  }
}

TEST(Strategy, CompoundDimensionsAreCutMajorFirst) {
  const Target reshape("(ab)->ab", {f64({24})}, {f64({4, 6})});
  EXPECT_EQ(reshape.cut("((4))", kEight), (Cut{{0, 1}, {}}));
  EXPECT_EQ(reshape.cut("((8))", kEight), (Cut{{0, 1}, {2}}));
  reshape.refuses("((3))", kSix,
                  "dimension 0 of operand 0, f64[24], cannot be cut like this: the parts would not be equal, got 3 "
                  "parts, expected one of 1, 2");
  const Target row("(ab)->ab", {f64({7})}, {f64({1, 7})});  // an index of one element is not cut
  EXPECT_EQ(row.cut("((2))", kSix), (Cut{{}, {1}}));
  row.refuses("((12))", kTwelve, "there are fewer elements, got 12 parts");
}

TEST(Strategy, EveryRoundTripOnEveryMesh) {
  for (const Mesh& mesh : {kEight, kSix, kTwelve, Mesh({{"a", 2}, {"b", 3}, {"c", 2}})}) {
    for (int64_t i : {1, 2, 3, 4}) {
      for (int64_t k : {1, 2, 3, 4, 8}) {
        for (int64_t j : {1, 2, 3, 6}) {
          if (mesh.ranks() % (i * k * j) != 0) continue;
          const Strategy strategy{{i, k}, {k, j}};
          const Cut cut = cut_of({.inputs = strategy}, {"m", kMatmul.rule, kMatmul.inputs, kMatmul.outputs}, mesh).cut;
          EXPECT_EQ(strategy_of(kMatmul.rule, cut, mesh), strategy);
          EXPECT_EQ(illegal(kMatmul.rule, cut, mesh), "");
        }
      }
    }
  }
}

TEST(Strategy, SaysWhatIsIllegalAndWhatIsLegal) {
  kMatmul.refuses("((2,4))", kEight,
                  "[shard] matmul (test.cpp:1): wrong number of operands, got 1 in ((2, 4)), expected 2");
  kMatmul.refuses("((2,4),(4))", kEight,
                  "wrong number of dimensions of operand 1, got 1 in ((2, 4), (4)), expected 2, as it is f64[8,6]");
  kMatmul.refuses(
      "((2,4),(2,1))", kEight,
      "dimension 0 of operand 1, f64[8,6], is cut differently from an operand before it, got 2 parts, expected 4");
  kMatmul.refuses("((8,1),(1,1))", kEight, "there are fewer elements, got 8 parts, expected one of 1, 2, 4");
  kMatmul.refuses("((4,4),(4,1))", kEight, "more or other parts than the mesh has, got ((4, 4), (4, 1))");
  kMatmul.refuses("((3,1),(1,1))", kEight, "expected numbers whose product divides 8 ranks");
  const Target softmax("iz->iz | z:expand", {f64({4, 8})}, {f64({4, 8})});
  softmax.refuses("((1,2))", kEight, "the op cannot be computed in parts along it, got 2 parts, expected 1");
  const Target sorted("iz->iz | z:whole", {f64({4, 8})}, {f64({4, 8})});
  sorted.refuses("((1,2))", kEight, "the op needs it whole, got 2 parts, expected 1");
  const Target broadcast("i1->i", {f64({4, 1})}, {f64({4})});
  broadcast.refuses("((1,2))", kEight, "it has one element, got 2 parts, expected 1");
}

}  // namespace
}  // namespace partita
