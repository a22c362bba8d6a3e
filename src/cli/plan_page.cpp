#include "cli/plan_page.h"

#include "cli/op_costs.h"
#include "explain/page.h"
#include "ops/registry.h"

namespace partita {
namespace {

constexpr size_t kShownOps = 4, kShownCuts = 6;

/// A group of ranks on the slowest links that it needs.
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

std::vector<PageOther> others(Planner& planner, const std::optional<PricedConfiguration>& runner_up) {
  std::vector<PageOther> result;
  const auto add = [&](const std::string& name, const PricedConfiguration& other, bool fits) {
    result.push_back({name, other.configuration, other.price.step_seconds, other.price.peak_memory(), fits});
  };
  if (runner_up) add("runner-up", *runner_up, true);
  for (const KnownTemplate& known : known_templates()) {
    const ConfigurationSearch search = planner.searched(known.pins);
    add(known.name, search.best ? *search.best : *search.least, search.best.has_value());
  }
  return result;
}

std::vector<PageOp> main_ops(Planner& planner, const PlanFile& plan) {
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

std::string plan_page(Planner& planner, const PricedPlan& priced, const PlanFile& plan, bool compares,
                      const std::optional<PricedConfiguration>& runner_up) {
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
  if (compares) contents.others = others(planner, runner_up);
  return html_page(contents);
}

}  // namespace partita
