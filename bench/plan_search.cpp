// The time of a search for the cuts of a training graph, what it finds, and how far from the cheapest plan it may be.
//
//   bench_plan_search [MODEL] [BATCH] [MESH] [exact|dynamic|recursive]
//
// MESH as in a plan: "data=8", "data=4 model=2" (of prime sub-axes) or "undivided data=128 model=8". Prints the size of
// the problem, seconds to make it and of the whole search, the cost that was found and the bound below which none is,
// in bytes.

#include <chrono>
#include <string>

#include "compiler/autodiff/training_graph.h"
#include "compiler/search/cost_graph.h"
#include "compiler/search/make_plan.h"
#include "compiler/search/search_cuts.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "usage.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void run(const std::string& spec, int64_t batch, const std::string& mesh_text, Search kind) {
  const ZooModel model = make_model(spec);
  double begin = now();
  const auto lap = [&](const char* what) {
    const double end = now();
    fmt::print("{:<24}{:8.3f} s\n", what, end - begin);
    begin = now();
  };
  const Graph forward = build_graph(model.network(model.recipe.training.loss), all_ops(),
                                    {.batch = batch, .columns = model.columns(), .dtype = DType::f32});
  const Graph graph = make_training_graph(forward, all_ops(), {.optimizer = model.recipe.optimizer}).graph;
  lap("graph");
  const Rules rules(graph, all_ops());
  lap("rules");
  const Mesh mesh = parse_mesh("mesh " + mesh_text);
  PartialPlan partial(graph);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (const int dim = graph.inputs[i].batch_dim; dim >= 0) {
      Axes all;
      for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
        all.push_back(static_cast<int>(axis));
        if (mesh.ways(all) > batch) all.pop_back();
      }
      partial.inputs[i][dim] = all;
    }
  }
  if (mesh.axes().size() <= 3) {
    const CostGraph costs =
        make_cost_graph(ForwardNodes(graph, rules, all_ops()), mesh, partial, {.costs = PlanCosts::bytes(mesh)});
    size_t alternatives = 0, most = 0, entries = 0;
    for (const CostVariable& variable : costs.problem.variables) {
      alternatives += variable.size();
      most = std::max(most, variable.size());
    }
    for (const CostEdge& edge : costs.problem.edges) entries += edge.table->seconds.size();
    fmt::print("{} nodes, {} variables of {} alternatives (at most {}), {} pairs of {} entries\n", graph.nodes.size(),
               costs.problem.variables.size(), alternatives, most, costs.problem.edges.size(), entries);
    lap("cost graph alone");
  }
  const FoundCuts found =
      search_cuts(graph, rules, all_ops(), mesh, partial, {.kind = kind, .costs = PlanCosts::bytes(mesh)});
  lap("search");
  fmt::print("cost {:.6g}", found.seconds);
  if (found.lower_bound > 0) {
    fmt::print(", bound {:.6g}, gap {:.4f} %", found.lower_bound, 100 * (found.seconds / found.lower_bound - 1));
  }
  fmt::print("\n");
  complete_plan(graph, rules, mesh, std::string(name_of(kind)), found.partial);
  lap("completion");
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage = "[MODEL] [BATCH] [MESH] [SEARCH]";
  return partita::run_benchmark(argc, argv, kUsage, /*required=*/0, [](const partita::Arguments& given) {
    partita::run(given.text(1, "gpt"), given.number(2, 8), given.text(3, "data=8"),
                 partita::parse_name<partita::Search>("SEARCH", given.text(4, "exact")));
  });
}
