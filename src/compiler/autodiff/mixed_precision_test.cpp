#include "compiler/autodiff/mixed_precision.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/autodiff/training_graph.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/registry.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

Graph forward_to_mix(const std::string& spec, DType dtype = DType::f32) {
  const ZooModel model = make_model(spec);
  return build_graph(model.network(model.recipe.training.loss), all_ops(),
                     {.batch = 4, .columns = model.columns(dtype), .dtype = dtype});
}

Graph mixed_training(const std::string& spec, const PrecisionOptions& precision, DType dtype = DType::f32) {
  return make_training_graph(forward_to_mix(spec, dtype), all_ops(), {.output_gradients = true, .precision = precision})
      .graph;
}

const Node& producer_in(const Graph& graph, ValueId value) { return graph.nodes[graph.values[value].producer]; }

bool is_cast_from(const Graph& graph, const Node& node, DType dtype) {
  return node.op == "cast" && graph.type(node.inputs[0]).dtype == dtype;
}

TEST(MixedPrecisionPass, DoesNothingInF32) {
  const Graph forward = forward_to_mix("gpt:layers=1,hidden=8,heads=2,seq=6,vocab=12");
  EXPECT_EQ(print(mixed_precision(forward, all_ops(), {})), print(forward));
}

TEST(MixedPrecisionPass, ProductsHaveOperandsOf16Bits) {
  for (const char* spec :
       {"mlp:hidden=12", "lenet", "resnet18:width=4,size=8", "gpt:layers=2,hidden=8,heads=2,seq=6,vocab=12",
        "moe:layers=2,hidden=8,heads=2,seq=6,vocab=12"}) {
    const Graph graph = mixed_training(spec, {.precision = MixedPrecision::bf16});
    int products = 0;
    for (const Node& node : graph.nodes) {
      for (const int operand : all_ops().at(node.op).traits.halves.operands) {
        EXPECT_TRUE(is_cast_from(graph, producer_in(graph, node.inputs[operand]), DType::bf16)) << spec << node.name;
        ++products;
      }
    }
    EXPECT_GT(products, 4) << spec;
  }
}

TEST(MixedPrecisionPass, TypesThatOthersSeeStay) {
  const char* spec = "gpt:layers=2,hidden=8,heads=2,seq=6,vocab=12";
  const Graph plain = mixed_training(spec, {}), mixed = mixed_training(spec, {.precision = MixedPrecision::f16});
  ASSERT_EQ(plain.outputs.size(), mixed.outputs.size());
  for (size_t i = 0; i < plain.outputs.size(); ++i) {
    EXPECT_EQ(plain.outputs[i].name, mixed.outputs[i].name);
    EXPECT_EQ(plain.type(plain.outputs[i].value), mixed.type(mixed.outputs[i].value)) << plain.outputs[i].name;
  }
  ASSERT_EQ(plain.states.size(), mixed.states.size());
  for (size_t s = 0; s < plain.states.size(); ++s) {
    EXPECT_EQ(plain.type(plain.states[s].entry), mixed.type(mixed.states[s].entry));
  }
}

// A gradient that is rounded once per rank would be another sum on other ranks.
TEST(MixedPrecisionPass, GradientsOfParametersAreNeverRounded) {
  for (const char* spec :
       {"mlp:hidden=12", "lenet", "resnet18:width=4,size=8", "gpt:layers=2,hidden=8,heads=2,seq=6,vocab=12",
        "llama:layers=1,hidden=8,heads=2,seq=6,vocab=12", "recommender"}) {
    const Graph graph = mixed_training(spec, {.precision = MixedPrecision::bf16});
    for (const Node& node : graph.nodes) {
      if (node.phase != Phase::update) continue;
      EXPECT_NE(node.op, "cast") << spec;
      for (const ValueId input : node.inputs) {
        if (graph.values[input].producer < 0) continue;
        EXPECT_FALSE(is_cast_from(graph, producer_in(graph, input), DType::bf16)) << spec << " " << node.name;
      }
    }
  }
}

TEST(MixedPrecisionPass, TheLossAndNamedLayersKeepTheirPrecision) {
  const Graph graph = mixed_training("mlp:hidden=12", {.precision = MixedPrecision::bf16, .layers = {{"net/fc1"}}});
  int rounds = 0;
  for (const Node& node : graph.nodes) {
    const bool narrows = node.op == "cast" && node.attrs.as<CastAttrs>().dtype == DType::bf16;
    if (!narrows) continue;
    ++rounds;
    EXPECT_NE(node.scope, "net/fc1");
    EXPECT_FALSE(node.scope.starts_with("loss")) << node.scope;
  }
  EXPECT_GT(rounds, 2);
  try {
    mixed_training("mlp:hidden=12", {.precision = MixedPrecision::bf16, .layers = {{"net/fc"}}});
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string_view(error.what()).find("[--precision-of] unknown layer, got 'net/fc', expected one of the"),
              std::string_view::npos);
    EXPECT_NE(std::string_view(error.what()).find("did you mean 'net/fc1'?"), std::string_view::npos) << error.what();
  }
}

TEST(MixedPrecisionPass, TheInnermostLayerCounts) {
  const PrecisionOptions options{.layers = {{"net", MixedPrecision::bf16},
                                            {"net/fc2", MixedPrecision::f16},
                                            {"net/nothing", MixedPrecision::f32, /*is_required=*/false}}};
  std::set<std::string> bf16, f16;
  for (const Node& node : mixed_training("mlp:hidden=12", options).nodes) {
    if (node.op != "cast") continue;
    if (node.attrs.as<CastAttrs>().dtype == DType::bf16) bf16.insert(node.scope);
    if (node.attrs.as<CastAttrs>().dtype == DType::f16) f16.insert(node.scope);
  }
  EXPECT_TRUE(bf16.contains("net/fc1"));
  EXPECT_FALSE(bf16.contains("net/fc2"));
  EXPECT_EQ(f16, std::set<std::string>{"net/fc2"});
}

TEST(MixedPrecisionPass, AnF64GraphRoundsInPlace) {
  const Graph graph = mixed_training("lenet", {.precision = MixedPrecision::bf16}, DType::f64);
  int rounds = 0;
  for (const Node& node : graph.nodes) {
    rounds += node.op == "round" ? 1 : 0;
    EXPECT_NE(node.op, "cast");
  }
  EXPECT_GT(rounds, 10);
}

}  // namespace
}  // namespace partita
