// The searches on models of the zoo: never worse than known plans under their own costs, annotations are binding, what
// is priced is what would run, and integer programming finds nothing better.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/philox.h"
#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/insert_reshards.h"
#include "compiler/search/cost_graph.h"
#include "compiler/search/data_parallel.h"
#include "compiler/search/exact.h"
#include "compiler/search/make_plan.h"
#include "compiler/search/propagation.h"
#include "compiler/search/search_cuts.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "support/random_plan.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

const std::string kGpt = "gpt:layers=2,hidden=64,heads=4,seq=16,vocab=64";
const std::string kLlama = "llama:layers=2,hidden=64,heads=4,kv_heads=2,seq=16,vocab=64";
const std::string kMoe = "moe:layers=2,hidden=32,heads=4,seq=16,vocab=64,experts=4";

Graph training_of(const std::string& spec, int64_t batch) {
  const ZooModel model = make_model(spec);
  std::vector<Column> columns = model.columns();
  if (spec == "lenet" || spec.starts_with("mlp")) columns.at(0).type.shape = {1, 28, 28};
  if (spec.starts_with("resnet")) columns.at(0).type.shape = {3, 32, 32};
  const Graph forward = build_graph(model.network(model.recipe.training.loss), all_ops(),
                                    {.batch = batch, .columns = columns, .dtype = DType::f32});
  return make_training_graph(forward, all_ops(), {.optimizer = model.recipe.optimizer}).graph;
}

/// The batch over all axes.
PartialPlan cut_batch(const Graph& graph, const Mesh& mesh) {
  PartialPlan partial(graph);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const int dim = graph.inputs[i].batch_dim;
    if (dim >= 0) partial.inputs[i][dim] = batch_axes(graph.type(graph.inputs[i].value).shape[dim], mesh);
  }
  return partial;
}

/// A plan as pins: its cuts of forward nodes, its inputs and states.
PartialPlan pins_of(const Plan& plan, const Graph& graph) {
  PartialPlan pins(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].phase == Phase::forward) pins.cuts[n] = plan.cuts[n];
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) pins.inputs[i] = plan.inputs[i];
  for (size_t s = 0; s < graph.states.size(); ++s) pins.states[s] = plan.inputs[graph.inputs.size() + s];
  pins.results = plan.results;
  return pins;
}

double price_of_plan(const Plan& plan, const Graph& graph, const Rules& rules, const PlanCosts& costs) {
  return search_cuts(graph, rules, all_ops(), plan.mesh, pins_of(plan, graph), {Search::exact, costs}).seconds;
}

const std::vector<std::string>& models() {
  static const std::vector<std::string> all{"mlp", "lenet", "resnet18", kGpt, kLlama, kMoe};
  return all;
}

std::vector<Mesh> meshes() {
  return {Mesh({{"ranks", 2}}), Mesh({{"ranks", 6}}), Mesh::undivided({{"a", 4}, {"b", 2}})};
}

TEST(SearchedModels, NeverWorseThanKnownPlans) {
  for (const std::string& spec : models()) {
    const Graph graph = training_of(spec, 24);
    const Rules rules(graph, all_ops());
    for (const Mesh& mesh : meshes()) {
      for (const double flops : {1e-4, 1e-2}) {
        PlanCosts costs = PlanCosts::bytes(mesh);
        costs.flop_seconds = flops;
        const PartialPlan partial = cut_batch(graph, mesh);
        const FoundCuts exact = search_cuts(graph, rules, all_ops(), mesh, partial, {Search::exact, costs});
        EXPECT_EQ(exact.lower_bound, exact.seconds) << spec;
        const Plan data = data_parallel_plan(graph, rules, mesh, {.uneven = true});
        EXPECT_LE(exact.seconds, price_of_plan(data, graph, rules, costs) * (1 + 1e-9)) << spec << print(mesh);
        const Plan propagated = propagate(graph, rules, mesh, partial);
        EXPECT_LE(exact.seconds, price_of_plan(propagated, graph, rules, costs) * (1 + 1e-9)) << spec << print(mesh);
        for (const Search kind : {Search::dynamic, Search::recursive}) {
          const FoundCuts other = search_cuts(graph, rules, all_ops(), mesh, partial, {kind, costs});
          EXPECT_LE(exact.seconds, other.seconds * (1 + 1e-9)) << spec << print(mesh);
        }
      }
    }
  }
}

/// Cost of the collectives of a plan that reshard between the nodes of its graph.
double cost_of_collectives(const Graph& graph, const Plan& plan, const LinkCosts& links) {
  const ReshardedGraph resharded = insert_reshards(graph, all_ops(), plan);
  double sum = 0;
  for (const Node& node : resharded.graph.nodes) {
    if (!is_reshard(node)) continue;
    const Sharding &from = resharded.shardings[node.inputs[0]], &to = resharded.shardings[node.outputs[0]];
    const std::optional<Move> move = move_between(from, to, plan.mesh);
    if (!move) continue;
    sum += cost_of(*move, resharded.graph.type(node.inputs[0]), from, plan.mesh, links);
  }
  return sum;
}

// The collectives that run are those that were priced. Norms of gradients and the loss are not priced to the last byte.
TEST(SearchedModels, WhatIsPricedIsWhatRuns) {
  for (const std::string& spec : models()) {
    const Graph graph = training_of(spec, 48);
    const Rules rules(graph, all_ops());
    for (const Mesh& mesh : {Mesh({{"ranks", 2}}), Mesh({{"ranks", 4}}), Mesh({{"ranks", 6}}), Mesh({{"ranks", 8}})}) {
      const FoundCuts found =
          search_cuts(graph, rules, all_ops(), mesh, cut_batch(graph, mesh), {Search::exact, PlanCosts::bytes(mesh)});
      const Plan plan = complete_plan(graph, rules, mesh, "exact", found.partial);
      const PlanCosts moves{.links = LinkCosts::bytes(mesh)};
      const double priced = price_of_plan(plan, graph, rules, moves);
      const double run = cost_of_collectives(graph, plan, moves.links);
      EXPECT_NEAR(run, priced, 0.01 * priced) << spec << " " << print(mesh);
    }
  }
}

TEST(SearchedModels, PinsAreBinding) {
  const Graph graph = training_of(kGpt, 24);
  const Rules rules(graph, all_ops());
  const Mesh mesh({{"ranks", 6}});
  const FoundCuts free =
      search_cuts(graph, rules, all_ops(), mesh, cut_batch(graph, mesh), {Search::exact, PlanCosts::bytes(mesh)});
  for (const Search kind : {Search::exact, Search::dynamic, Search::recursive}) {
    PartialPlan pins = cut_batch(graph, mesh);
    Dice dice(5);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].phase != Phase::forward || dice.below(4) > 0) continue;
      pins.cuts[n] = random_cut(rules[n], mesh, rules.expandable(n), dice);
    }
    const FoundCuts found = search_cuts(graph, rules, all_ops(), mesh, pins, {kind, PlanCosts::bytes(mesh)});
    EXPECT_GE(found.seconds, free.seconds);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (pins.cuts[n]) {
        EXPECT_EQ(*found.partial.cuts[n], *pins.cuts[n]);
      }
    }
  }
}

// The price of each cut of a node is the cost that a search finds with the cut as a pin.
TEST(SearchedModels, EveryCutHasAPrice) {
  const Graph graph = training_of(kGpt, 24);
  const Rules rules(graph, all_ops());
  for (const Mesh& mesh : {Mesh({{"ranks", 4}}), Mesh({{"ranks", 16}})}) {
    const CutSearch search{Search::exact, PlanCosts::bytes(mesh)};
    PartialPlan pins(graph);
    const FoundCuts best = search_cuts(graph, rules, all_ops(), mesh, pins, search);
    size_t node = 0;
    while (graph.nodes[node].op != "attention") ++node;
    const std::vector<PricedCut> priced = price_cuts(graph, rules, all_ops(), mesh, pins, search, node);
    EXPECT_GE(priced.size(), 8u);
    EXPECT_NEAR(priced.front().seconds, best.seconds, 1e-9 * best.seconds);
    for (size_t i = 0; i < priced.size() && mesh.ranks() == 4; i += 3) {  // pins can leave fewer groupings of axes
      pins.cuts[node] = priced[i].cut;
      const double seconds = search_cuts(graph, rules, all_ops(), mesh, pins, search).seconds;
      EXPECT_NEAR(priced[i].seconds, seconds, 1e-9 * seconds);
    }
  }
}

// More axes than are assigned one by one.
TEST(SearchedModels, AxesGoTogetherOnLargeMeshes) {
  const Graph graph = training_of(kGpt, 64);
  const Rules rules(graph, all_ops());
  const Mesh mesh({{"data", 8}, {"model", 4}});
  const PartialPlan partial = cut_batch(graph, mesh);
  EXPECT_EQ(axis_groupings(mesh, partial).size(), 11u);  // 1 run, 4 ways to 2, 6 to 3
  const FoundCuts found = search_cuts(graph, rules, all_ops(), mesh, partial, {Search::exact, PlanCosts::bytes(mesh)});
  const Plan plan = complete_plan(graph, rules, mesh, "exact", found.partial);
  EXPECT_NO_THROW(verify(plan, graph, all_ops()));
  EXPECT_NEAR(price_of_plan(plan, graph, rules, PlanCosts::bytes(mesh)), found.seconds, 1e-9 * found.seconds);
  const Plan data = data_parallel_plan(graph, rules, mesh, {});
  EXPECT_LE(found.seconds, price_of_plan(data, graph, rules, PlanCosts::bytes(mesh)) * (1 + 1e-9));
  PartialPlan pins = partial;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op == "matmul" && graph.nodes[n].phase == Phase::forward) {
      pins.cuts[n] = Cut(rules[n].factors.size());
      (*pins.cuts[n])[0] = {1, 2};
      break;
    }
  }
  for (const std::vector<Axes>& runs : axis_groupings(mesh, pins)) {
    EXPECT_TRUE(std::any_of(runs.begin(), runs.end(), [](const Axes& run) { return run.front() == 1; }));
    EXPECT_TRUE(std::any_of(runs.begin(), runs.end(), [](const Axes& run) { return run.front() == 3; }));
  }
}

// Pins only take plans away: what they cost is no less than what nothing pinned costs, nor than its bound.
TEST(SearchedModels, NothingPinnedIsNoWorseThanPinnedInputs) {
  const Graph graph = training_of(kGpt, 64);
  const Rules rules(graph, all_ops());
  for (const Mesh& mesh : {Mesh({{"ranks", 16}}), Mesh({{"ranks", 1024}})}) {
    const auto found = [&](const PartialPlan& pins) {
      return search_cuts(graph, rules, all_ops(), mesh, pins, {Search::exact, PlanCosts::bytes(mesh)});
    };
    const FoundCuts free = found(PartialPlan(graph));
    double least = std::numeric_limits<double>::infinity();
    for (Axes batch{0}; mesh.ways(batch) <= 64 && batch.size() < mesh.rank_axes(); batch.push_back(batch.back() + 1)) {
      PartialPlan pins(graph);
      for (size_t i = 0; i < graph.inputs.size(); ++i) {
        if (graph.inputs[i].batch_dim >= 0) pins.inputs[i][graph.inputs[i].batch_dim] = batch;
      }
      least = std::min(least, found(pins).seconds);
    }
    EXPECT_LE(free.lower_bound, least * (1 + 1e-9)) << print(mesh);
    EXPECT_LE(free.seconds, least * (mesh.ranks() <= 64 ? 1 + 1e-9 : 1.02)) << print(mesh);
  }
}

// Integer programming (COIN-OR CBC) on the formulation of Zheng et al., 2022, "Alpa": one variable for each alternative
// and one for each pair that goes together.
class IntegerProgram {
 public:
  explicit IntegerProgram(const CostProblem& problem) : problem_(problem) {}

  /// NaN: no solution in time.
  double solve(const std::string& path) const {
    std::ofstream(path + ".lp") << text();
    const std::string command = fmt::format("cbc {0}.lp sec 60 ratio 0 allow 1e-9 solve solu {0}.txt >/dev/null", path);
    if (std::system(command.c_str()) != 0) return std::nan("");
    std::ifstream solution(path + ".txt");
    std::string line;
    std::getline(solution, line);
    if (!line.starts_with("Optimal")) return std::nan("");
    return std::stod(line.substr(line.rfind(' ')));
  }

 private:
  std::string text() const {
    std::string costs, rules, binary;
    const auto x = [](size_t v, size_t a) { return fmt::format("x{}_{}", v, a); };
    for (size_t v = 0; v < problem_.variables.size(); ++v) {
      std::string sum;
      for (size_t a = 0; a < problem_.variables[v].size(); ++a) {
        costs += fmt::format(" + {:.12g} {}\n", (*problem_.variables[v].seconds)[a], x(v, a));
        sum += fmt::format(" + {}\n", x(v, a));
        binary += " " + x(v, a) + "\n";
      }
      rules += fmt::format("{} = 1\n", sum);
    }
    for (size_t e = 0; e < problem_.edges.size(); ++e) {
      const auto& [first, second, table] = problem_.edges[e];
      const auto y = [&](size_t a, size_t b) { return fmt::format("y{}_{}_{}", e, a, b); };
      std::vector<std::string> rows(table->rows), columns(table->columns);
      for (size_t a = 0; a < table->rows; ++a) {
        for (size_t b = 0; b < table->columns; ++b) {
          if (!std::isfinite(table->at(a, b))) continue;
          costs += fmt::format(" + {:.12g} {}\n", table->at(a, b), y(a, b));
          rows[a] += " + " + y(a, b) + "\n";
          columns[b] += " + " + y(a, b) + "\n";
        }
      }
      for (size_t a = 0; a < rows.size(); ++a) rules += fmt::format("{} - {} = 0\n", rows[a], x(first, a));
      for (size_t b = 0; b < columns.size(); ++b) rules += fmt::format("{} - {} = 0\n", columns[b], x(second, b));
    }
    return "Minimize\n" + costs + "Subject To\n" + rules + "Binary\n" + binary + "End\n";
  }

  const CostProblem& problem_;
};

TEST(SearchedModels, EqualIntegerProgramming) {
  if (std::system("cbc quit >/dev/null 2>&1") != 0) GTEST_SKIP() << "no cbc";
  const std::vector<std::string> specs{"mlp:hidden={}", "gpt:layers=1,hidden={},heads=4,seq=16,vocab=64",
                                       "llama:layers=1,hidden={},heads=4,kv_heads=2,seq=16,vocab=64",
                                       "moe:layers=1,hidden={},heads=4,seq=16,vocab=64,experts=4"};
  const std::vector<Mesh> all{Mesh({{"a", 2}}), Mesh({{"a", 3}}), Mesh::undivided({{"a", 4}}), Mesh({{"a", 4}})};
  int solved = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Dice dice(seed);
    const std::string spec = fmt::format(fmt::runtime(specs[seed % specs.size()]), 16 * (1 + dice.below(8)));
    const Mesh& mesh = all[seed % specs.size() == 3 ? seed % 3 : static_cast<size_t>(dice.below(4))];
    const Graph graph = training_of(spec, 12 * (1 + dice.below(3)));
    const Rules rules(graph, all_ops());
    PlanCosts costs = PlanCosts::bytes(mesh);
    costs.flop_seconds *= 1 + static_cast<double>(dice.below(20));
    const PartialPlan partial = cut_batch(graph, mesh);
    const CostGraph made = make_cost_graph(ForwardNodes(graph, rules, all_ops()), mesh, partial, {.costs = costs});
    const SearchResult exact = exact_search(made.problem);
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("block{}_{}", seed, getpid());
    const double least = IntegerProgram(made.problem).solve(path);
    std::filesystem::remove(path.string() + ".lp");
    std::filesystem::remove(path.string() + ".txt");
    if (std::isnan(least)) continue;
    ++solved;
    EXPECT_NEAR(exact.seconds, least, 1e-6 * least) << spec << " " << print(mesh);
  }
  EXPECT_GE(solved, 45);
}

}  // namespace
}  // namespace partita
