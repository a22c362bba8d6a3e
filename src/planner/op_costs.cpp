#include "planner/op_costs.h"

#include <algorithm>

#include "compiler/plan/network_names.h"
#include "compiler/search/named_cuts.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "ir/work/flops.h"

namespace partita {
namespace {

constexpr double kExposedGradients = 0.1;  // share of gradient sums after the backward pass

Graph forward_of_micro_batch(const PlanFile& plan, const NetworkPlanner& planner) {
  const TrainedNetwork& trained = planner.trained();
  const int64_t rows = plan.configuration.data * plan.configuration.micro_batch;
  return build_graph(trained.network, all_ops(),
                     {.batch = rows, .columns = trained.columns, .statistics_groups = rows});
}

/// Returns the decisions of `cuts`, with each forward node cut as `plan_of` cuts it. The layout of states that no line
/// names stays open, so that it follows their users. Lines that `training` cannot take are skipped. Throws
/// InvalidArgument for axes that the mesh of `cuts` lacks, for a malformed line, and for what two lines cut.
PartialPlan decided(const NamedCuts& cuts, const Graph& training) {
  PartialPlan partial = partial_plan_of(cuts, training, Rules(training, all_ops()), /*any_purpose=*/true);
  const Plan whole = plan_of(cuts, training, all_ops(), /*any_purpose=*/true);
  for (size_t n = 0; n < partial.cuts.size(); ++n) {
    if (training.nodes[n].phase == Phase::forward) partial.cuts[n] = whole.cuts[n];
  }
  return partial;
}

}  // namespace

OpCosts::OpCosts(const PlanFile& plan, NetworkPlanner& planner)
    : plan_(plan), planner_(planner), rounds_(micro_batches(plan.configuration, plan.batch)), partial_(Graph()) {
  const Graph forward = forward_of_micro_batch(plan, planner);
  whole_names_ = network_names(forward);
  folded_ = fold_layers(forward, Rules(forward, all_ops()));
  const TrainingOptions options{.optimizer = planner.trained().config.optimizer,
                                .recompute = plan.configuration.recompute.all};
  training_ = make_training_graph(folded_.graph, all_ops(), options).graph;
  names_ = network_names(training_);
  cuts_ = plan.cuts ? *plan.cuts : *planner.plan_file(planner.priced(plan.configuration)).cuts;
  partial_ = decided(cuts_, training_);
}

size_t OpCosts::place_of(const std::string& name) const {
  for (size_t whole = 0; whole < whole_names_.size(); ++whole) {
    if (matches_names(name, whole_names_[whole])) return whole;
  }
  throw unknown_name("[--op] unknown node", name,
                     fmt::format("one of the {} forward nodes of the plan's network", whole_names_.size()),
                     whole_names_, ErrorKind::value);
}

size_t OpCosts::node_named(const std::string& name) const {
  const size_t whole = place_of(name);
  for (const FoldedUnit& unit : folded_.units) {
    const size_t nodes = unit.end - unit.begin;
    if (whole < unit.whole_begin || whole >= unit.whole_begin + nodes * unit.count) continue;
    const Node& node = folded_.graph.nodes[unit.begin + (whole - unit.whole_begin) % nodes];
    for (size_t n = 0; n < training_.nodes.size(); ++n) {
      if (training_.nodes[n].name == node.name) return n;
    }
  }
  throw InternalError("no folded node stands for {}", whole_names_[whole]);
}

std::vector<size_t> OpCosts::largest(size_t count) const {
  const Rules rules(training_, all_ops());
  std::map<std::string_view, double> weights;  // number of copies, by name
  for (const FoldedUnit& unit : folded_.units) {
    const bool is_end = unit.is_copy && unit.count == 1;
    for (size_t n = unit.begin; n < unit.end && !is_end; ++n) {
      weights[folded_.graph.nodes[n].name] = static_cast<double>(unit.count);
    }
  }
  std::vector<std::pair<double, size_t>> nodes;
  for (size_t n = 0; n < training_.nodes.size(); ++n) {
    const auto found = weights.find(training_.nodes[n].name);
    if (found == weights.end() || training_.nodes[n].phase != Phase::forward) continue;
    nodes.emplace_back(-found->second * flops_of(rules, n), n);
  }
  std::ranges::sort(nodes);
  std::vector<size_t> result;
  for (size_t i = 0; i < std::min(count, nodes.size()); ++i) result.push_back(nodes[i].second);
  return result;
}

std::string OpCosts::title(size_t node) const {
  return fmt::format("{} of {}: {} micro-batch{} of {} rows on the {} ranks of a stage, {}",
                     print(Rules(training_, all_ops())[node]), planner_.name(), rounds_, rounds_ == 1 ? "" : "es",
                     plan_.configuration.data * plan_.configuration.micro_batch, cuts_.mesh.ranks(), print(cuts_.mesh));
}

std::vector<CutAlternative> OpCosts::alternatives(size_t node, bool free, size_t most) const {
  if (cuts_.mesh.ranks() == 1) return {};
  return alternatives_of({.training = training_,
                          .ops = all_ops(),
                          .mesh = cuts_.mesh,
                          .plan = partial_,
                          .cluster = planner_.cluster(),
                          .precision = planner_.precision(),
                          .gradient_part = kExposedGradients / static_cast<double>(rounds_),
                          .free = free,
                          .most = most},
                         node);
}

}  // namespace partita
