// partita explain: what a saved plan costs and why; partita diff: how two of them differ.

#include <iostream>
#include <memory>

#include "checkpoint/weights.h"
#include "cli/command_line.h"
#include "cli/op_costs.h"
#include "cli/options.h"
#include "cli/output_files.h"
#include "cli/plan_page.h"
#include "cli/remedies.h"
#include "cli/saved_plan.h"
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

void explain_layers(SavedPlan& saved) {
  const std::string edits = saved.edits(), warning = saved.warning();
  if (!edits.empty()) std::cout << edits << "\n";
  const PlanFile& file = saved.file();
  Planner& planner = saved.own();
  const PricedPlan priced = saved.priced();
  const Graph& folded = planner.costs().folded().graph;
  const Plan cuts =
      file.cuts ? plan_of(*file.cuts, folded, all_ops(), /*any_purpose=*/true) : planner.folded_plan(priced);
  std::cout << print(priced) << "\n"
            << print(layer_table(planner.costs(), file.configuration, priced.price.layers, cuts,
                                 Rules(folded, all_ops()), planner.precision()),
                     file.configuration, file.batch);
  if (!warning.empty()) warn(warning);
  if (priced.price.peak_memory() > planner.memory()) warn(print_excess(planner, priced));
}

void explain_op(SavedPlan& saved, const ExplainFlags& flags) {
  const OpCosts costs(saved.file(), saved.planner());
  const size_t node = costs.node_named(flags.op);
  std::cout << costs.title(node) << "\n";
  const std::vector<CutAlternative> all = costs.alternatives(node, flags.free, kShownAlternatives);
  if (flags.free && !all.empty()) {
    std::cout << "(all other nodes are cut anew, also beside the plan's cut: times are not those of the plan)\n";
  }
  std::cout << (all.empty() ? "one rank runs all of it\n" : print(all, costs.whole_name(flags.op), kShownAlternatives));
}

void write_page(SavedPlan& saved, const std::string& path) {
  const PricedPlan priced = saved.priced();
  PlanFile whole = saved.file();
  if (!whole.cuts) whole.cuts = saved.planner().plan_file(priced).cuts;
  save_text(path, plan_page(saved.planner(), priced, whole, /*compares=*/true, std::nullopt));
}

void run_explain(const ExplainFlags& flags) {
  if (flags.free && flags.op.empty()) {
    throw InvalidArgument("[--free] of no effect, got no --op, expected --op NAME");
  }
  require_outputs({{"--html", flags.html}}, {{"PLAN", flags.plan}, {"--cluster", flags.cluster}});
  SavedPlan saved(flags.plan, flags.cluster);
  if (!flags.html.empty()) write_page(saved, flags.html);
  if (flags.op.empty()) {
    explain_layers(saved);
  } else {
    explain_op(saved, flags);
  }
}

void run_diff(const DiffFlags& flags) {
  SavedPlan first(flags.first), second(flags.second);
  const Graph &own = first.planner().forward(), &other = second.planner().forward();
  const bool alike = network_names(own) == network_names(other);
  std::cout << print_differences(first.file(), second.file(), alike ? &own : nullptr, all_ops());
  const Price before = first.priced().price, now = second.priced().price;
  std::cout << fmt::format("step           {} -> {} ({:+.1f} %)\n", print_seconds(before.step_seconds),
                           print_seconds(now.step_seconds), 100 * (now.step_seconds / before.step_seconds - 1));
  std::cout << fmt::format("memory         {} -> {}\n", print_memory(before.peak_memory()),
                           print_memory(now.peak_memory()));
  for (SavedPlan* saved : {&first, &second}) {
    if (const std::string warning = saved->warning(); !warning.empty()) warn(warning);
  }
}

}  // namespace

void add_explain(CLI::App& app) {
  const auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = app.add_subcommand("explain", "Say what a saved plan costs, and what other cuts would");
  command->add_option("PLAN", flags->plan, "A file that partita plan --out wrote")->required();
  command->add_option("--op", flags->op, "A node, as net/h/0/mlp/fc/matmul: what each cut of it costs");
  command->add_flag("--free", flags->free, "With --op: the other nodes are cut anew for each alternative");
  command->add_option("--cluster", flags->cluster, "PRESET[:NODES][@SOFTWARE] or a TOML file, instead of the plan's");
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
  command->footer("Example: partita diff plan.txt edited.txt");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_diff(*flags);
  });
}

}  // namespace partita
