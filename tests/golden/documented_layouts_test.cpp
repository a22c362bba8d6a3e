// Groups, operator layouts, illegal strategies and shared parameters as the documented system has them (its own unit
// tests), in our representation. What is mathematics agrees; where our choice differs on purpose the test says so.

#include <gtest/gtest.h>

#include <set>

#include "compiler/plan/annotations.h"
#include "ir/graph/builder.h"
#include "ir/ops/registry.h"
#include "ir/sharding/strategy.h"

namespace partita {
namespace {

Mesh mesh_of(int64_t ranks) { return Mesh({{"ranks", ranks}}); }

/// One op under an annotation on `ranks` ranks.
class AnnotatedOp {
 public:
  AnnotatedOp(const std::string& op, const std::vector<Shape>& shapes, const std::string& annotation, int64_t ranks,
              const FieldTexts& fields = {}, DType dtype = DType::f32)
      : AnnotatedOp(op, types_of(shapes, dtype), annotation, ranks, fields) {}

  AnnotatedOp(const std::string& op, std::vector<Type> inputs, const std::string& annotation, int64_t ranks,
              const FieldTexts& fields = {})
      : mesh_(mesh_of(ranks)), attrs_(all_ops().at(op).attrs.with(fields)), inputs_(std::move(inputs)) {
    outputs_ = all_ops().at(op).infer({attrs_, inputs_, outputs_});
    rule_ = all_ops().at(op).rule({attrs_, inputs_, outputs_});
    const CutTarget target{op, rule_, inputs_, outputs_, all_ops().at(op).expand != nullptr};
    cut_ = cut_of(parse_annotation(annotation), target, mesh_).cut;
  }

  Shape input(int i, int64_t rank = 0) const {
    return local(inputs_[i], {.dims = dims_from_factors(rule_, cut_, rule_.inputs[i])}, rank);
  }
  Shape output(int64_t rank = 0) const { return local(outputs_[0], result(), rank); }
  Sharding result() const { return output_sharding(rule_, cut_, 0); }
  /// The ranks over which the result is to be reduced.
  std::vector<int> reduced(int64_t rank = 0) const { return mesh_.group(rank, result().partial); }
  /// The ranks that hold the same part of an operand.
  std::vector<int> replicas(int i, int64_t rank = 0) const {
    Axes used, free;
    for (const Axes& axes : dims_from_factors(rule_, cut_, rule_.inputs[i]))
      used.insert(used.end(), axes.begin(), axes.end());
    for (size_t axis = 0; axis < mesh_.axes().size(); ++axis) {
      if (std::find(used.begin(), used.end(), static_cast<int>(axis)) == used.end())
        free.push_back(static_cast<int>(axis));
    }
    return mesh_.group(rank, free);
  }

 private:
  static std::vector<Type> types_of(const std::vector<Shape>& shapes, DType dtype) {
    std::vector<Type> types;
    for (const Shape& shape : shapes) types.push_back({dtype, shape});
    return types;
  }

  Shape local(const Type& type, const Sharding& sharding, int64_t rank) const {
    Shape shape;
    for (const Range& range : local_ranges(type, sharding, mesh_, mesh_.coordinates(rank)))
      shape.push_back(range.count());
    return shape;
  }

  Mesh mesh_;
  Attrs attrs_;
  std::vector<Type> inputs_, outputs_;
  ShardingRule rule_;
  Cut cut_;
};

std::vector<int> every(int step, int count) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(i * step);
  return ranks;
}

TEST(DocumentedLayouts, GroupsAlongEachDimension) {
  const Mesh two({{"a", 2}, {"b", 3}});
  EXPECT_EQ(two.group(0, two.find("a")), (std::vector<int>{0, 3}));
  EXPECT_EQ(two.group(0, two.find("b")), (std::vector<int>{0, 1, 2}));
  const Mesh four({{"a", 2}, {"b", 1}, {"c", 4}, {"d", 2}});
  EXPECT_EQ(four.group(5, four.find("a")), (std::vector<int>{5, 13}));
  EXPECT_EQ(four.group(5, four.find("b")), (std::vector<int>{5}));
  EXPECT_EQ(four.group(5, four.find("c")), (std::vector<int>{1, 3, 5, 7}));
  EXPECT_EQ(four.group(5, four.find("d")), (std::vector<int>{4, 5}));
}

TEST(DocumentedLayouts, ReplicasOfAShard) {
  const Mesh mesh({{"a", 4}, {"b", 2}});
  EXPECT_EQ(mesh.group(6, mesh.find("a")), (std::vector<int>{0, 2, 4, 6}));
  const Mesh listed({{"a", 4}, {"b", 2}}, {10, 3, 2, 9, 11, 100, 1, 0});
  EXPECT_EQ(listed.group(0, listed.find("a")), (std::vector<int>{3, 9, 100, 0}));
  EXPECT_THROW(Mesh({{"a", 2}, {"b", 2}, {"c", 2}}, every(1, 9)), InvalidArgument) << "nine devices at eight places";
}

TEST(DocumentedLayouts, Matmul) {
  const std::vector<Shape> shapes{{2, 4, 8, 16}, {2, 4, 16, 32}};
  const AnnotatedOp summed("matmul", shapes, "((2,4,8,16),(2,4,16,1))", 1024);
  EXPECT_EQ(summed.input(0), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(summed.input(1), (Shape{1, 1, 1, 32}));
  EXPECT_EQ(summed.output(), (Shape{1, 1, 1, 32}));
  EXPECT_EQ(summed.result().kind, Reduce::sum);
  EXPECT_EQ(summed.reduced(), every(1, 16));
  EXPECT_TRUE(AnnotatedOp("matmul", shapes, "((2,4,8,1),(2,4,1,16))", 1024).result().partial.empty());
  const AnnotatedOp flat("matmul", {{2, 4, 8, 16}, {32, 16}}, "((2,4,8,8),(2,8))", 1024, {{"transpose_b", "true"}});
  EXPECT_EQ(flat.input(1), (Shape{16, 2}));
  EXPECT_EQ(flat.output(), (Shape{1, 1, 1, 16}));
  EXPECT_EQ(flat.reduced().size(), 8U);
}

TEST(DocumentedLayouts, MatmulOfAnOperandWithoutBatch) {
  const AnnotatedOp matmul("matmul", {{8, 16}, {2, 4, 32, 16}}, "((8,8),(2,4,2,8))", 1024, {{"transpose_b", "true"}});
  EXPECT_EQ(matmul.input(0), (Shape{1, 2}));
  EXPECT_EQ(matmul.input(1), (Shape{1, 1, 16, 2}));
  EXPECT_EQ(matmul.output(), (Shape{1, 1, 1, 16}));
  EXPECT_EQ(matmul.reduced().size(), 8U);
}

TEST(DocumentedLayouts, GradientsAreReducedOverReplicas) {
  const AnnotatedOp matmul("matmul", {{64, 32}, {32, 64}}, "((8,1),(1,4))", 32);
  EXPECT_EQ(matmul.replicas(1), (std::vector<int>{0, 4, 8, 12, 16, 20, 24, 28}));
}

TEST(DocumentedLayouts, OtherOps) {
  const AnnotatedOp sum("reduce", {{16, 32, 64}}, "((4,4,2))", 32, {{"kind", "sum"}, {"axes", "[2]"}});
  EXPECT_EQ(sum.reduced().size(), 2U);
  const AnnotatedOp add("add", {{32, 64, 96}, {32, 64, 96}}, "((2,4,4),(2,4,4))", 32);
  EXPECT_EQ(add.input(1), (Shape{16, 16, 24}));
  EXPECT_EQ(add.output(), (Shape{16, 16, 24}));
  const AnnotatedOp softmax("softmax", {{2, 4, 16, 8}}, "((2,4,16,1))", 128);
  EXPECT_EQ(softmax.input(0), (Shape{1, 1, 1, 8}));
  EXPECT_TRUE(softmax.result().partial.empty());
  // The loss of rows that half of the ranks repeat: there the gradient is divided by two, here only one group's counts.
  const AnnotatedOp loss("cross_entropy", {{DType::f32, {2, 4, 8, 16}}, {DType::i32, {2, 4, 8}}}, "((1,4,8,1),(1,4,8))",
                         64);
  EXPECT_EQ(loss.input(0), (Shape{2, 1, 1, 16}));
  EXPECT_EQ(loss.replicas(0), every(1, 2));
  EXPECT_TRUE(loss.result().partial.empty());
  const AnnotatedOp relu("relu", {{2, 4, 8, 16}}, "((2,4,8,16))", 1024);
  EXPECT_EQ(relu.input(0), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(relu.replicas(0), std::vector<int>{0});
  const AnnotatedOp transpose("transpose", {{128, 64}}, "((4,1))", 32, {{"perm", "[1,0]"}});
  EXPECT_EQ(transpose.output(), (Shape{64, 32}));
  EXPECT_EQ(transpose.replicas(0), every(1, 8)) << "the rest repeats the computation";
}

TEST(DocumentedLayouts, OneHotCutsItsDepthByTheResult) {
  const FieldTexts depth{{"depth", "10"}};
  const AnnotatedOp one_hot("one_hot", {{64}}, "((2))->((2,2))", 8, depth, DType::i32);
  EXPECT_EQ(one_hot.input(0), (Shape{32}));
  EXPECT_EQ(one_hot.output(), (Shape{32, 5}));
  EXPECT_EQ(AnnotatedOp("one_hot", {{64}}, "((4))", 8, depth, DType::i32).output(), (Shape{16, 10}));
  // There an axis says where the depth goes; here it is last, and a transpose puts it elsewhere.
  const AnnotatedOp first("transpose", {{64, 10}}, "((4,2))", 8, {{"perm", "[1,0]"}});
  EXPECT_EQ(first.output(), (Shape{5, 16}));
}

TEST(DocumentedLayouts, ReshapeKeepsItsCut) {
  // There the result of a reshape lies as its user wants it, or whole; here it stays cut as long as shapes allow.
  const AnnotatedOp reshape("reshape", {{32, 512, 7, 7}}, "((32,1,1,1))", 32, {{"shape", "[32,25088]"}});
  EXPECT_EQ(reshape.output(), (Shape{1, 25088}));
}

TEST(DocumentedLayouts, IllegalStrategies) {
  const std::vector<Shape> matmul{{2, 4, 8, 16}, {2, 4, 16, 32}}, add{{32, 64, 96}, {32, 64, 96}};
  const auto refuses = [](const std::string& op, const std::vector<Shape>& shapes, const std::string& annotation,
                          int64_t ranks, const FieldTexts& fields = {}, DType dtype = DType::f32) {
    EXPECT_THROW(AnnotatedOp(op, shapes, annotation, ranks, fields, dtype), InvalidArgument) << op << annotation;
  };
  refuses("matmul", matmul, "((2,2,8,16),(2,4,16,1))", 1024);
  refuses("matmul", matmul, "((2,4,8,16),(2,4,8,1))", 1024);
  refuses("matmul", matmul, "((0,4,8,16),(2,4,16,1))", 1024);
  refuses("matmul", matmul, "((4,4,8,16),(2,4,16,1))", 1024);
  refuses("add", add, "((2,4,4),(2,6,4))", 32);
  refuses("add", add, "((2,4,6))", 32);
  refuses("one_hot", {{64}}, "((16))", 8, {{"depth", "10"}}, DType::i32);
  // There softmax has an axis, which may be out of range; here it is the last dimension, which other ops say by a list.
  refuses("reduce", {{2, 4, 8, 16}}, "((2,4,1,16))", 128, {{"kind", "sum"}, {"axes", "[4]"}});
}

TEST(DocumentedLayouts, SliceOfAParameter) {
  const Mesh mesh({{"a", 2}, {"b", 3}});
  const Box part = local_ranges({DType::f32, {2, 3}}, {.dims = {{0}, {}}}, mesh, mesh.coordinates(5));
  EXPECT_EQ(part[0], (Range{1, 2, 2}));
  EXPECT_EQ(part[1], (Range{0, 3, 3}));
}

/// Whether a matmul and a relu may use one parameter w[8,8] under these annotations.
bool shares(const std::string& of_matmul, const std::string& of_relu) {
  Builder builder(all_ops());
  const Type type{DType::f32, {8, 8}};
  const Value x = builder.input("x", type), w = builder.state("w", type, {});
  builder.annotate(builder.apply("matmul", {x, w}), parse_annotation(of_matmul));
  builder.annotate(builder.apply("relu", {w}), parse_annotation(of_relu));
  const Graph graph = builder.take();
  try {
    partial_plan_of_annotations(graph, Rules(graph, all_ops()), mesh_of(8));
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

TEST(DocumentedLayouts, SharedParameters) {
  EXPECT_TRUE(shares("((1,2),(2,4))", "((2,4))"));
  EXPECT_TRUE(shares("((1,2),(2,1))", "((2,1))"));
  EXPECT_FALSE(shares("((2,2),(2,2))", "((2,2))")) << "the same counts on other axes";
}

TEST(DocumentedLayouts, TwentyFourRanks) {
  const AnnotatedOp rows("matmul", {{192, 96}, {96, 96}}, "((24,1),(1,1))", 24);
  EXPECT_EQ(rows.output(), (Shape{8, 96}));
  // Refused there next to a lookup cut in 3; here values are resharded between the two.
  const AnnotatedOp both("matmul", {{192, 96}, {96, 96}}, "((8,3),(3,1))", 24);
  EXPECT_EQ(both.input(0), (Shape{24, 32}));
  EXPECT_EQ(both.reduced().size(), 3U);
  const std::vector<Type> lookup{{DType::f32, {192, 96}}, {DType::i32, {192}}};
  EXPECT_EQ(AnnotatedOp("embedding", lookup, "((1,1),(24))", 24).input(1), (Shape{8}));
}

/// Strategies of a pointwise op, by counts, that use all ranks or none.
size_t count_strategies(const std::vector<Shape>& shapes, int64_t ranks) {
  const Mesh mesh = mesh_of(ranks);
  std::vector<Type> inputs;
  for (const Shape& shape : shapes) inputs.push_back({DType::f32, shape});
  const Attrs none;
  const std::vector<Type> outputs = all_ops().at("add").infer({none, inputs, {}});
  const ShardingRule rule = pointwise_rule({none, inputs, outputs});
  std::set<Strategy> found;
  std::vector<Cut> open{Cut(rule.factors.size())};
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    std::vector<Cut> more;
    for (const Cut& cut : open) {
      for (size_t f = 0; f < cut.size(); ++f) {
        more.push_back(cut);
        more.back()[f].push_back(static_cast<int>(axis));
      }
    }
    open = std::move(more);
  }
  for (const Cut& cut : open) {
    if (illegal(rule, cut, mesh).empty()) found.insert(strategy_of(rule, cut, mesh));
  }
  return found.size() + 1;  // and nothing cut
}

TEST(DocumentedLayouts, NumbersOfStrategies) {
  EXPECT_EQ(count_strategies({{64, 32}, {64, 32}}, 8), 5U);
  EXPECT_EQ(count_strategies({{64, 32}, {32}}, 8), 5U);
  EXPECT_EQ(count_strategies({{64, 8, 1}, {1, 8, 32}}, 8), 11U);
}

}  // namespace
}  // namespace partita
