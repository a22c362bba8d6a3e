// partita explain: what a saved plan costs and why; partita diff: how two of them differ.

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/output_files.h"
#include "planner/saved_plan.h"
#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

struct ExplainFlags {
  std::string plan, op, cluster, html;
  bool free = false;
};

struct DiffFlags {
  std::string first, second;
};

void explain_plan(const SavedPlan& saved, const PlannedJob& job) {
  const std::string edits = saved.edits(), warning = saved.warning();
  if (!edits.empty()) std::cout << edits << "\n";
  std::cout << print(job.priced) << "\n" << print_layers(job);
  if (!warning.empty()) warn(warning);
  if (!job.fits) warn(print_excess(job));
}

void run_explain(const ExplainFlags& flags) {
  if (flags.free && flags.op.empty()) {
    throw InvalidArgument("[--free] has no effect, got no --op, expected --op NAME");
  }
  require_outputs({{"--html", flags.html}}, {{"PLAN", flags.plan}, {"--cluster", flags.cluster}});
  const SavedPlan saved(flags.plan, flags.cluster);
  const PlannedJob job = saved.job();
  if (!flags.html.empty()) save_text(flags.html, plan_page(job));
  if (flags.op.empty()) {
    explain_plan(saved, job);
  } else {
    std::cout << print(explain_op(job, flags.op, flags.free));
  }
}

void run_diff(const DiffFlags& flags) {
  const PlanDifferences differences = diff(SavedPlan(flags.first), SavedPlan(flags.second));
  std::cout << differences.text;
  for (const std::string& warning : differences.warnings) warn(warning);
}

}  // namespace

void add_explain(CLI::App& app) {
  const auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command =
      add_command(app, "explain", "Show what a saved plan costs, and what other cuts would cost", flags, run_explain);
  command->add_option("PLAN", flags->plan, "A file that partita plan --out wrote")->required();
  command->add_option("--op", flags->op, "A node, such as net/h/0/mlp/fc/matmul: show what each of its cuts costs");
  command->add_flag("--free", flags->free, "With --op: choose the cuts of the other nodes anew for each alternative");
  command->add_option("--cluster", flags->cluster, "PRESET[:NODES][@SOFTWARE] or a TOML file, instead of the plan's");
  command->add_option("--html", flags->html, "Write an HTML page that needs no other files");
  command->footer("Example: partita explain plan.txt --op net/h/0/mlp/fc/matmul");
}

void add_diff(CLI::App& app) {
  const auto flags = std::make_shared<DiffFlags>();
  CLI::App* command = add_command(app, "diff", "Show how two saved plans differ", flags, run_diff);
  command->add_option("FIRST", flags->first, "A file that partita plan --out wrote")->required();
  command->add_option("SECOND", flags->second, "Another one")->required();
  command->footer("Example: partita diff plan.txt edited.txt");
}

}  // namespace partita
