#include "compiler/search/named_cuts.h"
#include "ir/ops/registry.h"
#include "planner/network_planner.h"
#include "planner/op_costs.h"
#include "planner/planner.h"

namespace partita {
namespace {

constexpr size_t kShownOps = 4, kShownCuts = 6;

/// Returns the group of ranks at `place`, with the links of the outermost level that it crosses; `level` is "" and the
/// bandwidth 0 for a single rank.
PageGroup group_of_ranks(std::string name, const GroupPlace& place, const Cluster& cluster) {
  PageGroup group{.name = std::move(name), .ranks = place.ranks, .level = {}};
  for (size_t level = 0; level < cluster.levels.size(); ++level) {
    if (place.members[level] < 2) continue;
    group.level = cluster.levels[level].name;
    group.bandwidth = cluster.levels[level].bandwidth;
  }
  return group;
}

std::vector<PageGroup> groups_of_ranks(const Configuration& configuration, const Cluster& cluster) {
  std::vector<PageGroup> groups;
  const Mesh mesh({{"data", configuration.data}, {"context", configuration.context}, {"tensor", configuration.tensor}});
  for (const auto& [name, size] : mesh.named()) {
    if (size > 1) groups.push_back(group_of_ranks(name, place_of(mesh, mesh.find(name), 0, cluster), cluster));
  }
  if (configuration.pipeline > 1) {
    PageGroup between = group_of_ranks("stages", place_between(0, mesh.ranks(), mesh.ranks(), cluster), cluster);
    between.ranks = configuration.pipeline;
    groups.push_back(std::move(between));
  }
  return groups;
}

std::vector<PageOp> main_ops(NetworkPlanner& planner, const PlanFile& plan) {
  const OpCosts costs(plan, planner);
  std::vector<PageOp> ops;
  for (const size_t node : costs.largest(kShownOps)) {
    std::vector<CutAlternative> all = costs.alternatives(node, /*free=*/false, kShownCuts);
    if (all.empty()) continue;
    PageOp& op = ops.emplace_back(PageOp{costs.name(node), {}});
    for (size_t i = 0; i < all.size(); ++i) {
      if (i < kShownCuts || all[i].is_chosen) op.alternatives.push_back(std::move(all[i]));
    }
  }
  return ops;
}

}  // namespace

std::string plan_page(const PlannedJob& job, bool compares) {
  NetworkPlanner& planner = *job.planner;
  const PricedPlan& priced = job.priced;
  const PlanFile plan = plan_file_of(job);
  const Graph& folded = planner.costs().folded().graph;
  const Plan cuts = plan_of(*plan.cuts, folded, all_ops(), /*any_purpose=*/true);
  StagePrices& stages = planner.costs().stages(priced.configuration);
  PageContents contents{.plan = priced,
                        .cluster = planner.cluster(),
                        .memory = planner.memory(),
                        .layers = layer_table(planner.costs(), priced.configuration, stages.layers(), cuts,
                                              Rules(folded, all_ops()), planner.precision()),
                        .cuts = {},
                        .step = simulate_step(stages, priced.configuration.zero, {.spans = true, .memory = true}),
                        .others = {},
                        .groups = groups_of_ranks(priced.configuration, planner.cluster()),
                        .ops = main_ops(planner, plan),
                        .text = print(plan)};
  for (const NamedLine& line : plan.cuts->lines) {
    if (line.kind == NamedKind::node) contents.cuts.emplace_back(line.names, line.text);
  }
  if (compares) contents.others = others(job);
  return html_page(contents);
}

}  // namespace partita
