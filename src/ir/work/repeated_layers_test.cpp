#include "ir/work/repeated_layers.h"

#include <gtest/gtest.h>

#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

Graph forward_of(const std::string& model) {
  const ZooModel zoo = make_model(model);
  return build_graph(zoo.network(zoo.recipe.training.loss), all_ops(), {.batch = 4, .columns = zoo.columns()});
}

FoldedGraph folded(const Graph& forward) { return fold_layers(forward, Rules(forward, all_ops())); }

/// Returns "2 + 21 x 12 + 4": the nodes of each unit and how many times it counts.
std::string units_of(const FoldedGraph& folded) {
  std::string text;
  for (const FoldedUnit& unit : folded.units) {
    text += text.empty() ? "" : " + ";
    text += unit.count > 1 ? fmt::format("{} x {}", unit.end - unit.begin, unit.count)
                           : fmt::format("{}", unit.end - unit.begin);
  }
  return text;
}

TEST(FoldLayers, KeepsThreeCopiesOfEachRun) {
  EXPECT_EQ(units_of(folded(forward_of("gpt:layers=12,hidden=32,heads=4"))), "2 + 17 + 17 x 10 + 17 + 4");
  EXPECT_EQ(units_of(folded(forward_of("gpt:layers=4,hidden=32,heads=4"))), "2 + 17 + 17 x 2 + 17 + 4");
  EXPECT_EQ(units_of(folded(forward_of("gpt:layers=3,hidden=32,heads=4"))), "57");
}

TEST(FoldLayers, StandsForTheWholeGraph) {
  for (const char* model : {"gpt:layers=7,hidden=32,heads=4", "llama:layers=9", "moe:layers=8",
                            "mlp:layers=24,hidden=8", "resnet50:size=32", "lenet"}) {
    SCOPED_TRACE(model);
    const Graph forward = forward_of(model);
    const FoldedGraph small = folded(forward);
    verify(small.graph, all_ops());
    size_t nodes = 0, next = 0, place = 0;
    std::map<std::string, size_t> ops, whole_ops;
    for (const FoldedUnit& unit : small.units) {
      EXPECT_EQ(unit.begin, next);
      EXPECT_EQ(unit.whole_begin, place);
      next = unit.end;
      place += (unit.end - unit.begin) * unit.count;
      nodes += (unit.end - unit.begin) * unit.count;
      for (size_t n = unit.begin; n < unit.end; ++n) {
        ops[small.graph.nodes[n].op + print(small.graph.type(small.graph.nodes[n].outputs[0]))] += unit.count;
      }
    }
    EXPECT_EQ(next, small.graph.nodes.size());
    EXPECT_EQ(nodes, forward.nodes.size());
    for (const Node& node : forward.nodes) ++whole_ops[node.op + print(forward.type(node.outputs[0]))];
    EXPECT_EQ(ops, whole_ops);
  }
}

TEST(FoldLayers, DependsOnNoNames) {
  Graph forward = forward_of("llama:layers=9");
  const std::string before = units_of(folded(forward));
  for (size_t n = 0; n < forward.nodes.size(); ++n) forward.nodes[n].name = fmt::format("n{}", n * 7919 % 1009);
  for (size_t v = 0; v < forward.values.size(); ++v) forward.values[v].name = fmt::format("v{}", v * 7919 % 10007);
  for (Node& node : forward.nodes) node.scope = "net";
  EXPECT_EQ(units_of(folded(forward)), before);
}

TEST(FoldLayers, KeepsWhatIsUsedAfterTheCopies) {
  // Every layer's result is used at the end: no copy can be left out.
  const Graph skips = parse_graph(R"(partita graph 1
graph skips
input %x: f32[4,8] batch=0
%a = relu(%x) : f32[4,8]
%b = relu(%a) : f32[4,8]
%c = relu(%b) : f32[4,8]
%d = relu(%c) : f32[4,8]
%e = relu(%d) : f32[4,8]
%f = add(%a, %b) : f32[4,8]
output y = %f
)",
                                  all_ops());
  EXPECT_EQ(folded(skips).graph.nodes.size(), skips.nodes.size());
}

}  // namespace
}  // namespace partita
