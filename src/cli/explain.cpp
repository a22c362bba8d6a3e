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

/// Of "A={data.0,tensor} j={tensor}" the factors that ranks of `data` share: "A=data.0".
std::string cuts_over_data(std::string_view cut) {
  std::string result, factor;
  for (size_t at = 0; at < cut.size();) {
    const size_t end = std::min(cut.find_first_of(" ={},", at), cut.size());
    const std::string_view word = cut.substr(at, end - at);
    if (end < cut.size() && cut[end] == '=')
      factor = word;
    else if (word == "data" || word.starts_with("data."))
      result += fmt::format("{}={} ", factor, word);
    at = end + 1;
  }
  return result;
}

/// Whose network is still that of the plan.
void require_network(const PlanFile& plan, const Planner& planner) {
  if (!plan.network || *plan.network == fingerprint_of_network(planner.forward())) return;
  throw InvalidArgument(
      fmt::format("[{}:{}] the plan is for another network than {} with batch {}, got its "
                  "fingerprint, expected that of this network, or no such line",
                  plan.path, plan.network_line, plan.model, plan.batch));
}

/// What a plan that was edited cuts otherwise than its configuration does.
struct EditedCuts {
  size_t nodes = 0, unpriced = 0;  // unpriced: in what the ranks of `data` do
  std::string first{};             // of these that are not priced, or of all
  bool any() const { return nodes > 0; }
  bool is_priced() const { return unpriced == 0; }
};

EditedCuts edited_cuts(const PlanFile& plan, Planner& planner, const PricedPlan& priced) {
  EditedCuts result;
  if (!plan.cuts) return result;
  const PlanFile own = planner.plan_file(priced);
  const bool is_known = plan.cuts->mesh == own.cuts->mesh;  // the axes that prices are made of
  const auto texts = [&](const NamedCuts& cuts) { return cuts_of_nodes(cuts, planner.forward(), all_ops()); };
  const std::vector<std::string> given = texts(*plan.cuts), made = texts(*own.cuts);
  const std::vector<std::string> names = network_names(planner.forward());
  std::vector<bool> data_differs(given.size(), !is_known);
  if (is_known) {
    for (size_t n = 0; n < given.size(); ++n) data_differs[n] = cuts_over_data(given[n]) != cuts_over_data(made[n]);
  }
  for (size_t n = 0; n < given.size(); ++n) {
    if (given[n] == made[n]) continue;
    ++result.nodes;
    if (data_differs[n]) ++result.unpriced;
    const bool is_first = result.first.empty() || (data_differs[n] && result.unpriced == 1);
    if (is_first) result.first = names[n];
  }
  return result;
}

void explain_layers(const PlanFile& plan, Planner& planner) {
  const EditedCuts edited = edited_cuts(plan, planner, planner.priced(plan.configuration));
  std::optional<Planner> with_cuts;
  if (edited.any() && edited.is_priced()) {
    PlannerRequest request = planner.request();
    request.cuts = plan.cuts;
    with_cuts.emplace(request, plan.path);
    std::cout << fmt::format("{} nodes are cut otherwise than the configuration does, {} first\n", edited.nodes,
                             edited.first);
  }
  Planner& own = with_cuts ? *with_cuts : planner;
  const PricedPlan priced = own.priced(plan.configuration);
  std::cout << print(priced) << "\n";
  const Graph& folded = own.costs().folded().graph;
  const Plan cuts =
      plan.cuts ? plan_of(*plan.cuts, folded, all_ops(), /*any_purpose=*/true) : planner.folded_plan(priced);
  std::cout << print(layer_table(own.costs(), plan.configuration, cuts, Rules(folded, all_ops()), planner.precision()),
                     plan.configuration, plan.batch);
  if (!edited.is_priced()) {
    warn(
        fmt::format("[explain] the ranks of 'data' share other work than the configuration says, got {} nodes, {} "
                    "first, expected none: prices are those of the configuration, --op those of its alternatives",
                    edited.unpriced, edited.first));
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
  if (flags.op.empty())
    explain_layers(plan, planner);
  else
    explain_op(plan, planner, flags);
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
