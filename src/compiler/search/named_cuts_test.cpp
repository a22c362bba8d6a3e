#include "compiler/search/named_cuts.h"

#include <gtest/gtest.h>

#include "compiler/autodiff/training_graph.h"
#include "compiler/plan/network_names.h"
#include "compiler/search/make_plan.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

Graph training_of(const std::string& model, int64_t batch = 8) {
  const ZooModel zoo = make_model(model);
  const Graph forward =
      build_graph(zoo.network(zoo.recipe.training.loss), all_ops(), {.batch = batch, .columns = zoo.columns()});
  return make_training_graph(forward, all_ops(), {}).graph;
}

std::string lines_of(const NamedCuts& named) {
  std::string text;
  for (const NamedLine& line : named.lines) {
    text += fmt::format("{} {} {}\n", name_of(line.kind), line.names, line.text);
  }
  return text;
}

TEST(NetworkNames, AreCollapsedToRanges) {
  const auto names_of_lines = [](const std::vector<NamedText>& lines) {
    std::string text;
    for (const NamedText& line : collapsed(lines)) text += fmt::format("{}:{} ", line.names, line.text);
    return text;
  };
  EXPECT_EQ(names_of_lines({{"a/0/x", "1"}, {"a/0/y", "1"}, {"a/1/x", "1"}, {"a/1/y", "2"}, {"a/2/x", "1"}}),
            "a/0..2/x:1 a/0/y:1 a/1/y:2 ");
  EXPECT_EQ(names_of_lines({{"a/0/0", "1"}, {"a/0/1", "1"}, {"a/1/0", "1"}, {"a/1/1", "1"}, {"a/3/0", "1"}}),
            "a/0..1/0..1:1 a/3/0:1 ");
  EXPECT_EQ(names_of_lines({{"a/00/x", "1"}, {"a/01/x", "1"}}), "a/00/x:1 a/01/x:1 ");
  EXPECT_TRUE(matches_names("net/h/0..5/attn/*", "net/h/3/attn/matmul"));
  EXPECT_FALSE(matches_names("net/h/0..5/attn", "net/h/3/attn/matmul"));
  EXPECT_FALSE(matches_names("net/h/0..5/x", "net/h/6/x"));
  EXPECT_FALSE(matches_names("net/h/0..5/x", "net/h/03/x"));
}

TEST(NamedCuts, MakeThePlanThatTheyName) {
  for (const char* model :
       {"mlp:layers=4,hidden=24", "lenet", "gpt:layers=3,hidden=16,heads=4,seq=8,vocab=16,dropout=0.1",
        "llama:layers=2,hidden=16,heads=4,kv_heads=2,intermediate=24,seq=8,vocab=12",
        "moe:layers=2,hidden=8,heads=2,seq=6,vocab=12,experts=4", "resnet18:width=4,size=8"}) {
    const Graph graph = training_of(model);
    const Rules rules(graph, all_ops());
    for (const Search search : {Search::propagation, Search::dynamic, Search::recursive, Search::exact}) {
      for (const int ranks : {1, 2, 4, 6, 8}) {
        const PlanOptions options{.parallel = Parallel::automatic, .search = search};
        const Plan plan = make_plan(graph, all_ops(), make_mesh(graph, ranks, options), options);
        const NamedCuts named = name_cuts(plan, graph, rules);
        Plan again = plan_of(named, graph, all_ops());
        again.search = plan.search;
        EXPECT_EQ(print(again, graph, all_ops()), print(plan, graph, all_ops()))
            << model << ", " << name_of(search) << " on " << ranks;
        EXPECT_EQ(lines_of(name_cuts(again, graph, rules)), lines_of(named));
      }
    }
  }
}

}  // namespace
}  // namespace partita
