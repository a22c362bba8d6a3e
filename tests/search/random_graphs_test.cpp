// The searches on random graphs of any ops, meshes and pins, against all choices.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "compiler/search/cost_graph.h"
#include "compiler/search/dynamic.h"
#include "compiler/search/exact.h"
#include "compiler/search/search_cuts.h"
#include "ir/graph/builder.h"
#include "ir/ops/registry.h"
#include "support/random_graph.h"

namespace partita {
namespace {

constexpr int64_t kMaxVisits = 3'000'000;

/// All choices one after another, but for those that begin with more than the best one costs.
class BruteForce {
 public:
  explicit BruteForce(const CostProblem& problem) : problem_(problem), chosen_(problem.variables.size()) {
    closed_.resize(problem.variables.size());
    for (size_t e = 0; e < problem.edges.size(); ++e) {
      closed_[std::max(problem.edges[e].first, problem.edges[e].second)].push_back(e);
    }
    visit(0, 0);
  }
  double least() const { return min_; }
  bool ended() const { return visits_ < kMaxVisits; }

 private:
  void visit(size_t v, double paid) {
    if (paid >= min_ || ++visits_ >= kMaxVisits) return;
    if (v == chosen_.size()) {
      min_ = paid;
      return;
    }
    for (chosen_[v] = 0; chosen_[v] < problem_.variables[v].size(); ++chosen_[v]) {
      double more = (*problem_.variables[v].seconds)[chosen_[v]];
      for (size_t e : closed_[v]) {
        const CostEdge& edge = problem_.edges[e];
        more += edge.table->at(chosen_[edge.first], chosen_[edge.second]);
      }
      visit(v + 1, paid + more);
    }
  }

  const CostProblem& problem_;
  std::vector<std::vector<size_t>> closed_;  // per variable: pairs with earlier ones
  std::vector<size_t> chosen_;
  double min_ = std::numeric_limits<double>::infinity();
  int64_t visits_ = 0;
};

struct DrawnSearch {
  Mesh mesh;
  int64_t nodes;
};

/// 2 to 12 ranks, as primes or undivided; fewer nodes where nodes have more cuts.
DrawnSearch draw_search(Dice& dice) {
  const int64_t ranks = 2 + dice.below(11);
  if (dice.below(2) == 0) {
    for (const int64_t first : {4, 3, 2, 6}) {
      if (ranks % first == 0 && ranks > first && dice.below(2) == 0) {
        return {Mesh::undivided({{"a", first}, {"b", ranks / first}}), 3 + dice.below(4)};
      }
    }
    return {Mesh::undivided({{"a", ranks}}), 3 + dice.below(6)};
  }
  const Mesh mesh({{"a", ranks}});
  const int64_t most[] = {8, 8, 6, 4};
  return {mesh, 2 + dice.below(most[mesh.axes().size()] - 1)};
}

PlanCosts random_costs(const Mesh& mesh, Dice& dice) {
  PlanCosts costs = PlanCosts::bytes(mesh);
  for (double& byte : costs.links.byte) byte = 1 + static_cast<double>(dice.below(4));
  for (double& step : costs.links.step) step = static_cast<double>(dice.below(3)) * 10;
  costs.flop_seconds = static_cast<double>(dice.below(5));
  costs.byte_seconds = static_cast<double>(dice.below(3));
  costs.node_seconds = static_cast<double>(dice.below(3));
  if (dice.below(4) == 0) costs.flop_seconds = costs.byte_seconds = costs.node_seconds = 0;  // only memory decides
  return costs;
}

/// A random search: its graph on a mesh, with some cuts pinned.
struct DrawnGraph {
  explicit DrawnGraph(uint64_t seed) : DrawnGraph(Dice(seed)) {}

  Dice dice;
  const Mesh mesh;
  const Graph graph;
  const PartialPlan pins;
  const Rules rules;

 private:
  explicit DrawnGraph(Dice start) : DrawnGraph(draw_search(start), start) {}
  DrawnGraph(const DrawnSearch& search, Dice& next)
      : dice(next),
        mesh(search.mesh),
        graph(random_graph(search.nodes, dice)),
        pins(random_pins(graph, mesh, dice)),
        rules(graph, all_ops()) {}
};

TEST(RandomGraphs, SearchesEqualBruteForce) {
  int ended = 0, trained = 0, found_by_others = 0, forward_nodes = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    DrawnGraph drawn(seed);
    auto& [dice, mesh, graph, pins, rules] = drawn;
    const PlanCosts costs = random_costs(mesh, dice);
    const CostGraph made = make_cost_graph(ForwardNodes(graph, rules, all_ops()), mesh, pins, {.costs = costs});
    const SearchResult exact = exact_search(made.problem), dynamic = dynamic_search(made.problem);
    EXPECT_LE(exact.seconds, dynamic.seconds * (1 + 1e-9)) << "seed " << seed;
    EXPECT_EQ(exact.lower_bound, exact.seconds) << "seed " << seed;
    const FoundCuts rounds = search_cuts(graph, rules, all_ops(), mesh, pins, {Search::recursive, costs});
    EXPECT_LE(exact.seconds, rounds.seconds * (1 + 1e-9)) << "seed " << seed;
    found_by_others += rounds.seconds <= exact.seconds * (1 + 1e-9);
    const Plan plan = complete_plan(graph, rules, mesh, "exact", made.partial_plan(exact.chosen));
    EXPECT_NO_THROW(verify(plan, graph, all_ops())) << "seed " << seed;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (pins.cuts[n]) {
        EXPECT_EQ(plan.cuts[n], *pins.cuts[n]) << "seed " << seed;
      }
    }
    const BruteForce all(made.problem);
    if (!all.ended()) continue;
    ++ended;
    trained += graph.nodes.back().phase != Phase::forward;
    for (const Node& node : graph.nodes) forward_nodes += node.phase == Phase::forward;
    for (const double seconds : {exact.seconds, dynamic.seconds}) {
      if (seconds == all.least()) continue;  // infinite, too: pins that no legal plan has
      EXPECT_NEAR(seconds, all.least(), 1e-9 * std::abs(all.least())) << "seed " << seed << ", " << print(mesh);
    }
  }
  EXPECT_GE(ended, 450);
  EXPECT_GE(trained, 150);
  EXPECT_GE(2 * forward_nodes, 7 * ended);
  EXPECT_GE(found_by_others, 250);
}

// Prices of nodes that keep their steps are those of nodes that do not, whatever the costs, and in the same order.
TEST(RandomGraphs, KeptStepsGiveTheSamePrices) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    DrawnGraph drawn(seed);
    auto& [dice, mesh, graph, pins, rules] = drawn;
    const ForwardNodes kept(graph, rules, all_ops(), /*traced=*/true);
    for (int round = 0; round < 3; ++round) {
      const PlanCosts costs = random_costs(mesh, dice);
      const CostGraph one = make_cost_graph(kept, mesh, pins, {.costs = costs});
      const CostGraph other = make_cost_graph(ForwardNodes(graph, rules, all_ops()), mesh, pins, {.costs = costs});
      ASSERT_EQ(one.problem.variables.size(), other.problem.variables.size()) << "seed " << seed;
      for (size_t v = 0; v < one.problem.variables.size(); ++v) {
        EXPECT_EQ(*one.problem.variables[v].seconds, *other.problem.variables[v].seconds) << "seed " << seed;
        compared += round > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, 500);
}

/// Bytes of the smallest choice: each variable by itself.
double min_bytes(const CostProblem& problem) {
  double sum = 0;
  for (const CostVariable& variable : problem.variables) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t a = 0; a < variable.size(); ++a) {
      if (std::isfinite((*variable.seconds)[a])) least = std::min(least, variable.bytes ? (*variable.bytes)[a] : 0);
    }
    sum += least;
  }
  return sum;
}

TEST(RandomGraphs, EverySearchObeysMemory) {
  int obeyed = 0, squeezed = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    DrawnGraph drawn(seed);
    auto& [dice, mesh, graph, pins, rules] = drawn;
    const PlanCosts costs = random_costs(mesh, dice);
    const double least =
        min_bytes(make_cost_graph(ForwardNodes(graph, rules, all_ops()), mesh, pins, {.costs = costs}).problem);
    for (const Search kind : {Search::exact, Search::dynamic, Search::recursive}) {
      SCOPED_TRACE(fmt::format("seed {}, {}", seed, name_of(kind)));
      const CutSearch search{kind, costs};
      const FoundCuts fastest = search_cuts(graph, rules, all_ops(), mesh, pins, search);
      for (const double part : {0.7, 0.2, 0.0}) {
        CutSearch within = search;
        within.max_bytes = (least + part * (fastest.bytes - least)) * (1 + 1e-9);
        EXPECT_LE(search_cuts(graph, rules, all_ops(), mesh, pins, within).bytes, within.max_bytes) << part;
        obeyed += within.max_bytes < fastest.bytes;
      }
      double before = fastest.bytes;
      for (int64_t squeeze = 1; squeeze <= kMaxSqueeze; ++squeeze) {
        CutSearch tighter = search;
        tighter.squeeze = squeeze;
        const double bytes = search_cuts(graph, rules, all_ops(), mesh, pins, tighter).bytes;
        if (kind == Search::exact) {
          EXPECT_LE(bytes, before * (1 + 1e-9)) << squeeze;
        }
        squeezed += bytes < before;
        before = bytes;
      }
      if (kind == Search::exact) {
        EXPECT_LE(before, least * (1 + 1e-6));
      }
    }
  }
  EXPECT_GT(obeyed, 100);
  EXPECT_GT(squeezed, 40);
}

/// The forward graph with other names, its nodes in another order.
Graph shuffled(const Graph& graph, Dice& dice) {
  Builder builder(all_ops(), "other");
  std::vector<Value> made(graph.values.size());
  int names = 0;
  for (const Input& input : graph.inputs) {
    made[input.value] = builder.input(fmt::format("i{}", names++), graph.type(input.value), input.batch_dim);
  }
  for (const State& state : graph.states) {
    State own = state;
    own.exit = -1;
    made[state.entry] = builder.state(fmt::format("s{}", names++), graph.type(state.entry), own);
  }
  std::vector<bool> done(graph.nodes.size(), false);
  for (size_t count = 0; count < graph.nodes.size();) {
    std::vector<size_t> ready;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const auto& inputs = graph.nodes[n].inputs;
      if (!done[n] && std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return bool(made[v]); }))
        ready.push_back(n);
    }
    const size_t n = ready[static_cast<size_t>(dice.below(static_cast<int64_t>(ready.size())))];
    std::vector<Value> operands;
    for (ValueId input : graph.nodes[n].inputs) operands.push_back(made[input]);
    const std::vector<Value> results = builder.apply_all(graph.nodes[n].op, operands, graph.nodes[n].attrs);
    for (size_t k = 0; k < results.size(); ++k) made[graph.nodes[n].outputs[k]] = results[k];
    done[n] = true;
    ++count;
  }
  for (const Output& output : graph.outputs) builder.output(output.name, made[output.value]);
  return builder.take();
}

TEST(RandomGraphs, NamesAndOrderChangeNothing) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Dice dice(seed);
    const auto [mesh, nodes] = draw_search(dice);
    Graph graph = random_graph(nodes, dice);
    if (graph.nodes.back().phase != Phase::forward) {  // without its gradients
      std::erase_if(graph.nodes, [](const Node& node) { return node.phase != Phase::forward; });
      for (State& state : graph.states) state.exit = -1;
    }
    const Graph other = shuffled(graph, dice);
    const CutSearch search{Search::exact, PlanCosts::bytes(mesh)};
    const FoundCuts one = search_cuts(graph, Rules(graph, all_ops()), all_ops(), mesh, PartialPlan(graph), search);
    const FoundCuts two = search_cuts(other, Rules(other, all_ops()), all_ops(), mesh, PartialPlan(other), search);
    EXPECT_NEAR(one.seconds, two.seconds, 1e-9 * one.seconds) << "seed " << seed;
  }
}

}  // namespace
}  // namespace partita
