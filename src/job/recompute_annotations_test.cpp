#include "job/recompute_annotations.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/autodiff/recompute.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

Graph forward_to_recompute(const std::string& model = "gpt:layers=4,hidden=16,heads=2,seq=8,vocab=12") {
  const ZooModel zoo = make_model(model);
  return build_graph(zoo.network(zoo.recipe.training.loss), all_ops(), {.batch = 4, .columns = zoo.columns()});
}

template <class Function>
std::string refusal_of_annotations(const Function& function) {
  try {
    function();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(RecomputeAnnotations, ChooseTheirLayersAlone) {
  const Graph plain = forward_to_recompute();
  Graph annotated = plain;
  annotate_recomputed(annotated, all_ops(),
                      {parse_recompute_annotation("net/h/0..1=full"), parse_recompute_annotation("net/h/3=selective")});
  for (size_t n = 0; n < annotated.nodes.size(); ++n) {
    const Node& node = annotated.nodes[n];
    const bool is_full = node.scope.starts_with("net/h/0") || node.scope.starts_with("net/h/1");
    const bool is_selective = node.scope.starts_with("net/h/3") && node.op == "attention";
    EXPECT_EQ(node.recompute, is_full ? node.scope.substr(0, 7) : is_selective ? node.name : "") << node.scope;
  }
  // The global policy then applies to the other layers.
  choose_recomputed(annotated, Recompute::selective, all_ops());
  Graph all = plain;
  choose_recomputed(all, Recompute::selective, all_ops());
  for (size_t n = 0; n < all.nodes.size(); ++n) {
    if (!all.nodes[n].scope.starts_with("net/h/2")) continue;
    EXPECT_EQ(annotated.nodes[n].recompute, all.nodes[n].recompute);
  }
}

TEST(RecomputeAnnotations, AreReadBack) {
  for (const char* text : {"net/h/0..5=full", "net/*/attn=selective"})
    EXPECT_EQ(print(parse_recompute_annotation(text)), text);
  for (const char* text : {"net/h", "=full", "net/h=none", "net/h=most", ""}) {
    EXPECT_EQ(refusal_of_annotations([&] { parse_recompute_annotation(text); }),
              fmt::format("[--recompute-layers] not a recomputation of layers, got '{}', expected LAYERS=selective or "
                          "LAYERS=full, such as net/h/0..5=full",
                          text));
  }
}

TEST(RecomputeAnnotations, AreRefusedWhereTheyFitNothing) {
  const auto refusal = [](const std::vector<RecomputeAnnotation>& annotations) {
    Graph forward = forward_to_recompute();
    return refusal_of_annotations([&] { annotate_recomputed(forward, all_ops(), annotations); });
  };
  EXPECT_EQ(refusal({{"net/h/7", Recompute::full}}).substr(0, 57),
            "[recompute] unknown layer, got 'net/h/7', expected one of");
  EXPECT_EQ(refusal({{"net/embedding", Recompute::full}}),
            "[recompute] nothing to recompute, got 'net/embedding=full', expected layers in numbered scopes");
  EXPECT_EQ(refusal({{"net/h/1/mlp", Recompute::selective}}),
            "[recompute] nothing to recompute, got 'net/h/1/mlp=selective', expected layers with attention");
  EXPECT_EQ(refusal({{"net/h/1", Recompute::full}, {"net/h/0..2", Recompute::selective}}).substr(0, 98),
            "[recompute] a layer is recomputed in two ways, got 'net/h/1=full' and 'net/h/0..2=selective' for n");
}

}  // namespace
}  // namespace partita
