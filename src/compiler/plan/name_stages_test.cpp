#include "compiler/plan/name_stages.h"

#include <gtest/gtest.h>

#include "compiler/plan/assign_stages.h"
#include "compiler/plan/network_names.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

Graph staged_forward(const std::string& model) {
  const ZooModel zoo = make_model(model);
  return build_graph(zoo.network(zoo.recipe.training.loss), all_ops(), {.batch = 8, .columns = zoo.columns()});
}

std::vector<StageAnnotation> annotations_of_names(const std::vector<std::vector<std::string>>& stages) {
  std::vector<StageAnnotation> annotations;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    for (const std::string& layers : stages[stage]) annotations.push_back({layers, static_cast<int>(stage)});
  }
  return annotations;
}

TEST(NameStages, AnnotationsGiveTheSameStages) {
  for (const char* model : {"mlp:layers=6,hidden=24", "lenet", "resnet18:width=4,size=8", "resnet50:size=32",
                            "gpt:layers=7,hidden=16,heads=4", "llama:layers=5,hidden=16,heads=4,kv_heads=2",
                            "moe:layers=4,hidden=8,heads=2,experts=4", "t5", "inception"}) {
    const Graph graph = staged_forward(model);
    const Rules rules(graph, all_ops());
    for (const int64_t count : {2, 3, 4}) {
      SCOPED_TRACE(fmt::format("{} in {} stages", model, count));
      const StageAssignment assignment = assign_stages(graph, rules, count);
      const auto names = name_stages(graph, assignment);
      Graph annotated = graph;
      annotate_stages(annotated, annotations_of_names(names));
      EXPECT_EQ(assign_stages(annotated, rules, count).nodes, assignment.nodes);
    }
  }
}

TEST(NameStages, AreShort) {
  const Graph graph = staged_forward("gpt:layers=6,hidden=16,heads=4");
  StageAssignment halves{.stages = 2, .nodes = std::vector<int>(graph.nodes.size(), 0), .states = {}};
  bool in_second_half = false;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    in_second_half = in_second_half || graph.nodes[n].scope.starts_with("net/h/3");
    halves.nodes[n] = in_second_half ? 1 : 0;
  }
  const auto print_names = [&] {
    const auto names = name_stages(graph, halves);
    return fmt::format("{} | {}", fmt::join(names[0], " "), fmt::join(names[1], " "));
  };
  EXPECT_EQ(print_names(), "net/embedding net/add net/h/0..2 | net/h/3..5 net/ln_f net/matmul loss");
  // Of two nodes with the same path, the second is on the other stage.
  const std::vector<std::string> names = network_names(graph);
  const size_t second = static_cast<size_t>(std::ranges::find(names, "net/h/5/add#2") - names.begin());
  for (size_t n = 0; n < graph.nodes.size(); ++n) halves.nodes[n] = n < second ? 0 : 1;
  EXPECT_EQ(print_names(),
            "net/embedding net/add net/h/0..4 net/h/5/ln_1 net/h/5/attn net/h/5/add#1 net/h/5/ln_2 net/h/5/mlp | "
            "net/h/5/add#2 net/ln_f net/matmul loss");
}

}  // namespace
}  // namespace partita
