#include "graph/rules.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "ops/reduce/attrs.h"
#include "ops/registry.h"

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
  const Rules one(chain_of(1), all_ops()), many(chain_of(1000), all_ops());
  EXPECT_EQ(one.made(), 4U);  // matmul, relu, two reductions with other axes
  EXPECT_EQ(many.made(), 4U);
}

}  // namespace
}  // namespace partita
