#include "compiler/autodiff/mixed_precision.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "compiler/autodiff/training_graph.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/layers/layers.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/registry.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

Graph forward_to_mix(const std::string& spec, DType dtype = DType::f32, Purpose purpose = Purpose::training) {
  const ZooModel model = make_model(spec);
  return build_graph(model.network(model.recipe.training.loss), all_ops(),
                     {.batch = 4, .columns = model.columns(dtype), .dtype = dtype, .purpose = purpose});
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
  const Graph graph = mixed_training("mlp:hidden=12",
                                     {.precision = MixedPrecision::bf16, .layers = {{"net/fc1", MixedPrecision::f32}}});
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
    mixed_training("mlp:hidden=12", {.precision = MixedPrecision::bf16, .layers = {{"net/fc", MixedPrecision::f32}}});
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string_view(error.what()).find("[--precision-of] unknown layer, got 'net/fc', expected one of the"),
              std::string_view::npos);
    EXPECT_NE(std::string_view(error.what()).find("did you mean 'net/fc1'?"), std::string_view::npos) << error.what();
  }
}

/// Returns, for each rounding whose result the forward pass uses, the scope and the op that made the value, with ops of
/// an evaluation under the names that a training has.
std::vector<std::string> roundings_of_forward(const Graph& graph) {
  std::vector<std::string> found;
  const auto users = graph.users();
  for (const Node& node : graph.nodes) {
    const bool narrows = node.op == "cast" && node.attrs.as<CastAttrs>().dtype == DType::bf16;
    const bool is_used = std::any_of(users[node.outputs[0]].begin(), users[node.outputs[0]].end(),
                                     [&](NodeId user) { return graph.nodes[user].phase == Phase::forward; });
    if (!narrows || !is_used) continue;
    const NodeId producer = graph.values[node.inputs[0]].producer;
    const std::string made = producer < 0 ? graph.values[node.inputs[0]].name : graph.nodes[producer].op;
    found.push_back(node.scope + " " + made.substr(0, made.find("_inference")));
  }
  return found;
}

// An evaluation measures the network that is trained.
TEST(MixedPrecisionPass, AnEvaluationRoundsAsItsTraining) {
  for (const char* spec :
       {"mlp:hidden=12", "lenet", "resnet18:width=4,size=8", "gpt:layers=2,hidden=8,heads=2,seq=6,vocab=12",
        "llama:layers=2,hidden=8,heads=2,seq=6,vocab=12", "moe:layers=2,hidden=8,heads=2,seq=6,vocab=12",
        "vit:layers=2,hidden=8,heads=2", "t5:layers=2,hidden=8,heads=2", "bert:layers=2,hidden=8,heads=2"}) {
    for (const Residual residual : {Residual::half, Residual::f32}) {
      const PrecisionOptions options{.precision = MixedPrecision::bf16, .residual = residual};
      const std::vector<std::string> training = roundings_of_forward(mixed_training(spec, options));
      EXPECT_GT(training.size(), 5) << spec;
      for (const Purpose purpose : {Purpose::evaluation, Purpose::prediction}) {
        const Graph forward = mixed_precision(forward_to_mix(spec, DType::f32, purpose), all_ops(), options);
        EXPECT_EQ(roundings_of_forward(forward), training) << spec << " for " << name_of(purpose);
      }
    }
  }
}

// Values that are kept from the forward pass to the backward pass have 16 bits.
TEST(MixedPrecisionPass, WhatIsKeptHas16Bits) {
  for (const char* spec : {"lenet", "resnet18:width=4,size=8", "gpt:layers=2,hidden=8,heads=2,seq=6,vocab=12",
                           "llama:layers=1,hidden=8,heads=2,seq=6,vocab=12"}) {
    const Graph graph = mixed_training(spec, {.precision = MixedPrecision::bf16});
    const auto users = graph.users();
    for (size_t v = 0; v < users.size(); ++v) {
      const NodeId producer = graph.values[v].producer;
      if (producer < 0 || graph.nodes[producer].phase != Phase::forward) continue;
      const Node& node = graph.nodes[producer];
      const bool is_kept =
          std::ranges::any_of(users[v], [&](NodeId user) { return graph.nodes[user].phase == Phase::backward; });
      const Halves& halves = all_ops().at(node.op).traits.halves;
      if (!is_kept || graph.values[v].output >= halves.results || node.scope.starts_with("loss")) continue;
      EXPECT_NE(graph.type(static_cast<ValueId>(v)).dtype, DType::f32) << spec << " " << graph.values[v].name;
    }
  }
}

/// Returns the nodes, other than sums, that take all digits of two products of their phase.
std::vector<std::string> nodes_of_two_products(const Graph& graph) {
  std::vector<std::set<ValueId>> products(graph.values.size());  // per value: those whose digits it has
  std::vector<std::string> found;
  for (const Node& node : graph.nodes) {
    const OpTraits& traits = all_ops().at(node.op).traits;
    std::set<ValueId> taken;
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph.values[input].producer;
      if (producer < 0 || graph.nodes[producer].phase != node.phase) continue;
      taken.insert(products[input].begin(), products[input].end());
    }
    const bool meet = taken.size() > 1;
    if (meet && traits.halves.follow && !traits.is_sum) found.push_back(node.scope + " " + node.op);
    for (const ValueId output : node.outputs) {
      if (!traits.halves.operands.empty() || (meet && traits.is_sum)) {
        products[output] = {output};
      } else if (graph.type(output).dtype == DType::f32 && traits.halves.follow) {
        products[output] = taken;
      }
    }
  }
  return found;
}

// Gate and width of a gated unit are stored in 16 bits: no kernel computes both and the node at which they meet.
TEST(MixedPrecisionPass, TwoProductsMeetInASumAlone) {
  for (const char* spec :
       {"mlp:hidden=12", "lenet", "resnet18:width=4,size=8", "gpt:layers=2,hidden=8,heads=2,seq=6,vocab=12",
        "llama:layers=2,hidden=8,heads=2,seq=6,vocab=12", "moe:layers=2,hidden=8,heads=2,seq=6,vocab=12",
        "vit:layers=2,hidden=8,heads=2", "t5:layers=2,hidden=8,heads=2", "bert:layers=2,hidden=8,heads=2"}) {
    const Graph graph = mixed_training(spec, {.precision = MixedPrecision::bf16});
    EXPECT_EQ(nodes_of_two_products(graph), std::vector<std::string>()) << spec;
  }
}

// A result goes on to a layer that is not recomputed. The backward pass keeps its rounded copy alone.
TEST(MixedPrecisionPass, RecomputedBlocksKeep16Bits) {
  const LayerPtr blocks =
      sequential({{"0", sequential({{"fc", dense(6)}})}, {"gelu", op_layer("gelu")}, {"fc", dense(4)}});
  const std::vector<Column> columns{{"x", {DType::f32, {5}}}, {"label", {DType::i32, {}}}};
  const Graph forward = build_graph(Network("blocks", blocks), all_ops(), {.batch = 4, .columns = columns});
  const Graph graph =
      make_training_graph(forward, all_ops(), {.recompute = Recompute::full, .precision = {MixedPrecision::bf16}})
          .graph;
  const auto users = graph.users();
  int kept = 0;
  for (size_t v = 0; v < users.size(); ++v) {
    const NodeId producer = graph.values[v].producer;
    if (producer < 0 || graph.nodes[producer].phase != Phase::forward || graph.type(static_cast<ValueId>(v)).rank() < 2)
      continue;
    if (graph.nodes[producer].scope.starts_with("loss")) continue;
    const bool is_kept =
        std::ranges::any_of(users[v], [&](NodeId user) { return graph.nodes[user].phase == Phase::backward; });
    if (!is_kept) continue;
    ++kept;
    EXPECT_EQ(graph.type(static_cast<ValueId>(v)).dtype, DType::bf16) << graph.values[v].name;
  }
  EXPECT_GT(kept, 0) << print(graph);
}

// A value with the digits of one 16-bit type has those of the other as operand of a product there.
TEST(MixedPrecisionPass, LayersHaveTheirOwn16Bits) {
  const PrecisionOptions options{.layers = {{"net/fc1", MixedPrecision::bf16},
                                            {"net/fc2", MixedPrecision::f16},
                                            {"net/fc*", MixedPrecision::f32}}};
  try {
    mixed_training("mlp:hidden=12", options);
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string_view(error.what()),
              "[--precision-of] a layer has two precisions, got 'net/fc1=bf16' and 'net/fc*=f32' for net/fc1/matmul, "
              "expected one");
  }
  const Graph graph = mixed_training("mlp:hidden=12", {.layers = {{"net/fc1", MixedPrecision::bf16},
                                                                  {"net/fc2", MixedPrecision::f16},
                                                                  {"net/none", MixedPrecision::f32, false}}});
  std::set<std::string> seen;
  for (const Node& node : graph.nodes) {
    for (const int operand : all_ops().at(node.op).traits.halves.operands) {
      const ValueId input = node.inputs[operand];
      const bool is_cast = graph.values[input].producer >= 0 && producer_in(graph, input).op == "cast";
      const auto type = is_cast ? name_of(graph.type(producer_in(graph, input).inputs[0]).dtype) : "f32";
      seen.insert(fmt::format("{} {}", node.scope, type));
    }
  }
  EXPECT_TRUE(seen.contains("net/fc1 bf16") && seen.contains("net/fc2 f16"))
      << fmt::format("{}", fmt::join(seen, ", "));
  EXPECT_FALSE(seen.contains("net/fc1 f32") || seen.contains("net/fc2 f32")) << "all operands are rounded";
  EXPECT_FALSE(seen.contains("net/fc1 f16") || seen.contains("net/fc2 bf16")) << "by the type of their layer";
}

/// Returns how many sums of two activations or of two gradients, in this order, have an operand that was rounded.
std::array<int, 2> sums_of_rounded(const std::string& spec, Residual residual) {
  const Graph graph = mixed_training(spec, {.precision = MixedPrecision::bf16, .residual = residual});
  std::array<int, 2> found{};
  for (const Node& node : graph.nodes) {
    if (node.op != "add" || graph.type(node.inputs[0]) != graph.type(node.inputs[1])) continue;
    const bool has_rounded = std::ranges::any_of(node.inputs, [&](ValueId value) {
      return graph.values[value].producer >= 0 && is_cast_from(graph, producer_in(graph, value), DType::bf16);
    });
    if (has_rounded) ++found[node.phase == Phase::forward ? 0 : 1];
  }
  return found;
}

// The stream begins with the rounded result of an embedding or of a convolution.
TEST(MixedPrecisionPass, TheResidualStreamKeepsItsDigits) {
  for (const char* spec : {"gpt:layers=3,hidden=8,heads=2,seq=6,vocab=12", "resnet18:width=4,size=8",
                           "llama:layers=3,hidden=8,heads=2,seq=6,vocab=12", "bert:layers=3,hidden=8,heads=2"}) {
    const auto half = sums_of_rounded(spec, Residual::half), full = sums_of_rounded(spec, Residual::f32);
    EXPECT_GE(half[0], 4) << spec;
    EXPECT_GE(half[1], std::string_view(spec).starts_with("gpt") ? 4 : 0) << spec;
    EXPECT_LE(full[0], 1) << spec;
    EXPECT_EQ(full[1], 0) << spec;
  }
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
