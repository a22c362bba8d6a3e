#include "ir/graph/annotate_nodes.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_refusal.h"
#include "ir/graph/builder.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

Graph small() {
  Graph graph{.name = "net"};
  for (const char* place : {"net/h/0/fc1", "net/h/1/fc1", "net/h/1/fc2"}) {
    Node node{.op = "matmul"};
    node.name = fmt::format("matmul{}", graph.nodes.size() + 1);
    node.scope = place;
    graph.nodes.push_back(node);
  }
  return graph;
}

std::string annotated(const std::string& nodes) {
  Graph graph = small();
  annotate_nodes(graph, {parse_node_annotation(nodes + "=((2,1),(1,1))")});
  std::string names;
  for (const Node& node : graph.nodes) names += node.annotation ? node.name + " " : "";
  return names;
}

TEST(AnnotateNodes, ByNameAndByPlace) {
  EXPECT_EQ(annotated("matmul2"), "matmul2 ");
  EXPECT_EQ(annotated("net/h/*/fc1/matmul"), "matmul1 matmul2 ");
  EXPECT_EQ(annotated("*/matmul"), "matmul1 matmul2 matmul3 ");
  EXPECT_EQ(annotated("net/h/1/fc2/matmul"), "matmul3 ");
  EXPECT_EQ(annotated("*2/*"), "matmul3 ");
}

TEST(AnnotateNodes, RefusesWhatIsNotThere) {
  try {
    annotated("net/h/1/fc3/matmul");
    ADD_FAILURE();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string(error.what()),
              "[shard] unknown node, got 'net/h/1/fc3/matmul', expected one of the 3 nodes of graph net, such as "
              "net/h/0/fc1/matmul, net/h/1/fc1/matmul, net/h/1/fc2/matmul, did you mean 'net/h/1/fc1/matmul'?");
  }
  for (const char* text : {"((2,1))", "=((2))", "fc1", "fc1=2", "[a=2]((a))"}) {
    EXPECT_THROW(parse_node_annotation(text), InvalidArgument) << text;
  }
}

TEST(BuilderAnnotations, OnlyResultsOfOpsTakeAnnotations) {
  Builder builder(all_ops());
  const Value x = builder.input("x", {DType::f32, {4, 2}});
  EXPECT_EQ(refusal_of([&] {
              builder.annotate(x, {.inputs = {{2, 1}}});
            }),
            "[shard] no node made the value, got 'x', expected a result of an op");
}

TEST(BuilderAnnotations, OnlyParametersAreLayerwise) {
  Builder builder(all_ops());
  const Value x = builder.input("x", {DType::f32, {4, 2}}), w = builder.state("w", {DType::f32, {4, 2}}, {});
  builder.layerwise(w, 1);
  EXPECT_EQ(builder.graph().states[0].layerwise, 1);
  EXPECT_EQ(refusal_of([&] { builder.layerwise(x, 0); }),
            "[layerwise] only parameters can be layerwise, got 'x', expected a parameter");
  EXPECT_EQ(refusal_of([&] { builder.layerwise(w, 2); }),
            "[layerwise] 'w' has no such dimension, got 2 of f32[4,2], expected 0 to 1");
}

}  // namespace
}  // namespace partita
