// partita explain: what a saved plan costs and why; partita diff: how two of them differ.

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/op_costs.h"
#include "cli/options.h"
#include "cli/plan_page.h"
#include "cli/remedies.h"
#include "explain/differences.h"
#include "explain/layer_table.h"
#include "ops/registry.h"
#include "planning/quantities.h"

namespace partita {
namespace {

constexpr size_t kShownAlternatives = 12;

struct ExplainFlags {
  std::string plan, op, cluster, html;
  bool free = false;
};

struct DiffFlags {
  std::string first, second;
};

/// The model and the cluster of a saved plan.
Planner planner_of(const PlanFile& plan, const std::string& cluster) {
  const auto require = [&](std::string_view line, const std::string& text) {
    if (!text.empty()) return;
    throw InvalidArgument(
        fmt::format("[{}] the plan does not say what it is for, got no line '{}', expected one", plan.path, line));
  };
  require("model", plan.model);
  require("cluster", cluster);
  return Planner({.model = plan.model,
                  .cluster = cluster,
                  .dtype = std::string(name_of(plan.dtype)),
                  .batch = plan.batch,
                  .ranks = plan.ranks},
                 plan.path);
}

/// Whose network is still that of the plan.
void require_network(const PlanFile& plan, const Planner& planner) {
  if (!plan.network || *plan.network == fingerprint_of_network(planner.forward())) return;
  throw InvalidArgument(fmt::format("[{}:{}] the plan is for another network than {} with batch {}, got its "
                                    "fingerprint, expected that of this network, or no such line",
                                    plan.path, plan.network_line, plan.model, plan.batch));
}

/// How many forward nodes the plan cuts otherwise than its configuration does, and the first of them.
std::pair<size_t, std::string> edited_nodes(const PlanFile& plan, Planner& planner, const PricedPlan& priced) {
  if (!plan.cuts) return {0, ""};
  const PlanFile own = planner.plan_file(priced);
  std::pair<size_t, std::string> result{0, ""};
  const Graph& forward = planner.forward();
  const std::vector<std::string> given = cuts_of_nodes(*plan.cuts, forward, all_ops());
  const std::vector<std::string> made = cuts_of_nodes(*own.cuts, forward, all_ops());
  for (size_t n = 0; n < given.size(); ++n) {
    if (given[n] == made[n]) continue;
    if (result.first++ == 0) result.second = network_names(forward)[n];
  }
  return result;
}

void explain_layers(const PlanFile& plan, Planner& planner) {
  const PricedPlan priced = planner.priced(plan.configuration);
  std::cout << print(priced) << "\n";
  const Graph& folded = planner.costs().folded().graph;
  const Plan cuts = plan.cuts ? plan_of(*plan.cuts, folded, all_ops(), /*any_purpose=*/true)
                              : planner.folded_plan(priced);
  std::cout << print(layer_table(planner.costs(), plan.configuration, cuts, Rules(folded, all_ops()),
                                 planner.precision()),
                     plan.configuration, plan.batch);
  if (const auto [count, first] = edited_nodes(plan, planner, priced); count > 0) {
    warn(fmt::format("[explain] {} nodes are cut otherwise than the configuration does, got {} first, expected none: "
                     "prices are those of the configuration, --op those of its alternatives",
                     count, first));
  }
  if (priced.price.peak_memory() > planner.memory()) warn(print_excess(planner, priced));
}

void explain_op(const PlanFile& plan, Planner& planner, const ExplainFlags& flags) {
  const OpCosts costs(plan, planner);
  const size_t node = costs.node_named(flags.op);
  std::cout << costs.title(node) << "\n";
  const std::vector<CutAlternative> all = costs.alternatives(node, flags.free);
  std::cout << (all.empty() ? "one rank runs all of it\n" : print(all, costs.name(node), kShownAlternatives));
}

void write_page(const PlanFile& plan, Planner& planner, const std::string& path) {
  const PricedPlan priced = planner.priced(plan.configuration);
  PlanFile whole = plan;
  if (!whole.cuts) whole.cuts = planner.plan_file(priced).cuts;
  write_whole_file("--html", path, plan_page(planner, priced, whole, /*compares=*/true, std::nullopt));
}

void run_explain(const ExplainFlags& flags) {
  const PlanFile plan = read_plan_file(flags.plan);
  if (flags.free && flags.op.empty()) {
    throw InvalidArgument("[--free] of no effect, got no --op, expected --op NAME");
  }
  Planner planner = planner_of(plan, flags.cluster.empty() ? plan.cluster : flags.cluster);
  require_network(plan, planner);
  if (!flags.html.empty()) write_page(plan, planner, flags.html);
  if (flags.op.empty()) explain_layers(plan, planner);
  else explain_op(plan, planner, flags);
}

void run_diff(const DiffFlags& flags) {
  const PlanFile first = read_plan_file(flags.first), second = read_plan_file(flags.second);
  Planner own = planner_of(first, first.cluster), other = planner_of(second, second.cluster);
  require_network(first, own);
  require_network(second, other);
  const bool alike = network_difference(own.forward(), other.forward()).empty() ||
                     network_names(own.forward()) == network_names(other.forward());
  std::cout << print_differences(first, second, alike ? &own.forward() : nullptr, all_ops());
  const PricedPlan before = own.priced(first.configuration), now = other.priced(second.configuration);
  std::cout << fmt::format("step           {} -> {} ({:+.1f} %)\n", print_seconds(before.price.step_seconds),
                           print_seconds(now.price.step_seconds),
                           100 * (now.price.step_seconds / before.price.step_seconds - 1));
  std::cout << fmt::format("memory         {} -> {}\n", print_memory(before.price.peak_memory()),
                           print_memory(now.price.peak_memory()));
}

}  // namespace

void add_explain(CLI::App& app) {
  const auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = app.add_subcommand("explain", "Say what a saved plan costs, and what other cuts would");
  command->add_option("PLAN", flags->plan, "A file that partita plan --out wrote")->required();
  command->add_option("--op", flags->op, "A node, as net/h/0/mlp/fc/matmul: what each cut of it costs");
  command->add_flag("--free", flags->free, "With --op: the other nodes are cut anew for each alternative");
  command->add_option("--cluster", flags->cluster, "PRESET[:NODES] or a TOML file, instead of the plan's");
  command->add_option("--html", flags->html, "Write a page to look at, one file that needs nothing else");
  command->footer("Example: partita explain plan.txt --op net/h/0/mlp/fc/matmul");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_explain(*flags);
  });
}

void add_diff(CLI::App& app) {
  const auto flags = std::make_shared<DiffFlags>();
  CLI::App* command = app.add_subcommand("diff", "Say how two saved plans differ");
  command->add_option("FIRST", flags->first, "A file that partita plan --out wrote")->required();
  command->add_option("SECOND", flags->second, "Another one")->required();
  command->callback([command, flags] {
    refuse_empty(*command);
    run_diff(*flags);
  });
}

}  // namespace partita
