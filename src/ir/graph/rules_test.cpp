#include "ir/graph/rules.h"

#include <gtest/gtest.h>

#include "ir/graph/builder.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

Graph chain_of(int blocks) {
  Builder builder(all_ops());
  Value x = builder.input("x", {DType::f32, {6, 4}}, 0);
  const Value weight = builder.input("w", {DType::f32, {4, 4}});
  for (int block = 0; block < blocks; ++block) x = builder.apply("relu", {builder.apply("matmul", {x, weight})});
  const Value sum = builder.apply("reduce", {x}, ReduceAttrs{.axes = {0}});
  builder.output("rows", sum);
  builder.output("columns", builder.apply("reduce", {x}, ReduceAttrs{.axes = {1}}));
  return builder.take();
}

TEST(Rules, AreThoseOfTheNodes) {
  const Graph graph = chain_of(3);
  const Rules rules(graph, all_ops());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    EXPECT_EQ(print(rules[n]), print(rule_of(graph, graph.nodes[n], all_ops()))) << graph.nodes[n].name;
    EXPECT_EQ(rules.op(n).name, graph.nodes[n].op);
  }
}

TEST(Rules, OfRepeatedLayersAreMadeOnce) {
  RuleTable table(all_ops());
  const Rules one(chain_of(1), table);
  EXPECT_EQ(table.made(), 4U);  // matmul, relu, two reductions over different axes
  const Rules many(chain_of(1000), table);
  EXPECT_EQ(table.made(), 4U);
}

TEST(Rules, OfNodesThatWereCopiedAreTheSame) {
  RuleTable table(all_ops());
  const Graph graph = chain_of(2), again = chain_of(2);  // equal attributes, made twice
  Graph copy = graph;
  copy.nodes.erase(copy.nodes.begin() + 1);
  const Rules first(graph, table), second(copy, table), third(again, table);
  EXPECT_EQ(&second[0], &first[0]);
  for (size_t n = 1; n < copy.nodes.size(); ++n) EXPECT_EQ(&second[n], &first[n + 1]);
  for (size_t n = 0; n < again.nodes.size(); ++n) EXPECT_EQ(&third[n], &first[n]);
}

TEST(Rules, OfAttributesThatCameInThePlaceOfOthersAreTheirOwn) {
  RuleTable table(all_ops());
  for (int64_t axis : {0, 1, 0, 1}) {  // each graph is destroyed before the next is made
    Builder builder(all_ops());
    const Value x = builder.input("x", {DType::f32, {6, 6}}, 0);
    builder.output("sum", builder.apply("reduce", {x}, ReduceAttrs{.axes = {axis}}));
    const Graph graph = builder.take();
    EXPECT_EQ(print(Rules(graph, table)[0]), print(rule_of(graph, graph.nodes[0], all_ops())));
  }
}

}  // namespace
}  // namespace partita
