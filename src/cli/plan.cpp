// partita plan: what a training step costs on a cluster that nobody needs to have.

#include <chrono>
#include <iostream>
#include <memory>

#include "checkpoint/weights.h"
#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/output_files.h"
#include "cli/plan_page.h"
#include "cli/planner.h"
#include "cli/remedies.h"
#include "explain/layer_table.h"
#include "ops/registry.h"
#include "planning/quantities.h"
#include "planning/simulate_step.h"

namespace partita {
namespace {

struct PlanFlags {
  PlannerRequest request;
  std::string fixed, pins, out, html;
  double memory = 0;  // GiB
  bool json = false;
};

/// The best of each known kind, and the best that shares the ranks otherwise, beside a plan.
std::string print_others(Planner& planner, const PricedPlan& plan,
                         const std::optional<PricedConfiguration>& runner_up) {
  std::string text;
  const auto line = [&](const std::string& name, const PricedConfiguration& other) {
    const double seconds = other.price.step_seconds;
    text += fmt::format("{:<22} {:>12}, {:+.1f} %: {}\n", name, print_seconds(seconds),
                        100 * (seconds / plan.price.step_seconds - 1), print(other.configuration));
  };
  if (runner_up) line("runner-up", *runner_up);
  for (const KnownTemplate& known : known_templates()) {
    const ConfigurationSearch search = planner.searched(known.pins);
    if (search.best)
      line(known.name, *search.best);
    else
      text += fmt::format("{:<22} does not fit: {}\n", known.name, print_memory(search.least->price.peak_memory()));
  }
  return text;
}

std::string print_layers(Planner& planner, const PricedPlan& plan) {
  const Plan folded = planner.folded_plan(plan);
  const Rules rules(planner.costs().folded().graph, all_ops());
  return print(layer_table(planner.costs(), plan.configuration, plan.price.layers, folded, rules, planner.precision()),
               plan.configuration, plan.batch);
}

/// Pins that exclude one another, or need more than there is.
void require_possible(const Pins& pins, const Planner& planner) {
  Configuration least{.data = pins.data.value_or(1),
                      .context = pins.context.value_or(1),
                      .tensor = pins.tensor.value_or(1),
                      .pipeline = pins.pipeline.value_or(1),
                      .micro_batch = pins.micro_batch.value_or(0)};
  if (least.ranks() > planner.cluster().ranks()) {
    throw InvalidArgument(fmt::format(
        "[--pin] more ranks than the cluster has, got data {} x context {} x tensor {} x pipeline {} = {}, expected at "
        "most {} of {}",
        least.data, least.context, least.tensor, least.pipeline, least.ranks(), planner.cluster().ranks(),
        planner.request().cluster));
  }
  least.sequence_parallel = pins.sequence_parallel.value_or(false);
  least.interleave = pins.interleave.value_or(1);
  least.squeeze = pins.squeeze.value_or(0);
  least.links = pins.links.value_or(0);
  least.cuts = pins.cuts.value_or(least.squeeze + least.links > 0 ? TensorCuts::searched : TensorCuts::blocks);
  if ((least.sequence_parallel || least.cuts == TensorCuts::searched) && !pins.tensor) least.tensor = 2;
  if (least.interleave > 1 && !pins.pipeline) least.pipeline = 2;
  completed(least, least.ranks(), planner.batch(), "--pin");
}

void write_files(Planner& planner, const PricedPlan& plan, const PlanFlags& flags,
                 const std::optional<PricedConfiguration>& runner_up) {
  const PlanFile file = planner.plan_file(plan);
  std::vector<std::pair<std::string, std::string>> texts;
  if (!flags.out.empty()) texts.emplace_back(flags.out, print(file));
  if (!flags.html.empty()) {
    texts.emplace_back(flags.html, plan_page(planner, plan, file, /*compares=*/true, runner_up));
  }
  save_texts(texts);
}

void run_plan(const PlanFlags& flags) {
  const auto begin = std::chrono::steady_clock::now();
  PlannerRequest request = flags.request;
  if (request.batch != 0) check_range("--batch", request.batch, 1);
  if (!flags.fixed.empty() && !flags.pins.empty()) {
    throw InvalidArgument("[--pin] of no effect, got --fixed, which leaves nothing open, expected one of both");
  }
  if (!(flags.memory >= 0)) {
    throw InvalidArgument(fmt::format("[--memory] out of range, got {}, expected GiB above 0", flags.memory));
  }
  request.memory = flags.memory * kGiB;
  const Configuration fixed = parse_configuration(flags.fixed);
  const Pins pins = parse_pins(flags.pins);
  if (!flags.fixed.empty()) request.ranks = fixed.ranks();
  require_outputs({{"--out", flags.out}, {"--html", flags.html}},
                  {{"MODEL", request.model}, {"--cluster", request.cluster}});
  Planner planner(request);
  const bool writes = !flags.out.empty() || !flags.html.empty();
  if (writes) planner.model();
  PricedPlan plan;
  std::optional<PricedConfiguration> runner_up;
  const bool compares = flags.fixed.empty() && flags.pins.empty() && !flags.json;
  if (!flags.fixed.empty()) {
    plan = planner.priced(completed(fixed, fixed.ranks(), planner.batch()));
  } else {
    require_possible(pins, planner);
    ConfigurationSearch search = planner.searched(pins, compares);
    if (!search.best) refuse_memory(planner, pins, search);
    plan = planner.priced(*search.best);
    plan.lower_bound_seconds = search.lower_bound_seconds;
    plan.searched = search.searched;
    runner_up = std::move(search.runner_up);
  }
  plan.search_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (writes) write_files(planner, plan, flags, runner_up);
  if (flags.json) {
    std::cout << to_json(plan);
    return;
  }
  std::cout << print(plan) << "\n" << print_layers(planner, plan);
  if (compares) std::cout << "\n" << print_others(planner, plan, runner_up);
  if (plan.price.peak_memory() > planner.memory()) warn(print_excess(planner, plan));
}

}  // namespace

void add_plan(CLI::App& app) {
  const auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand("plan", "Price a training step on a cluster, without the cluster");
  command
      ->add_option("MODEL", flags->request.model,
                   "A model, as gpt:layers=96,hidden=12288, or a forward graph, graph.txt")
      ->required();
  command->add_option("--cluster", flags->request.cluster, "PRESET[:NODES][@SOFTWARE] or a TOML file")
      ->capture_default_str();
  command->add_option("--batch", flags->request.batch, "Rows of the global batch; by default the model's");
  command->add_option("--dtype", flags->request.dtype, "Of activations and products: f32, f64, bf16 or f16")
      ->capture_default_str();
  command
      ->add_option("--tf32", flags->request.tf32,
                   "Whether products of f32 are priced in TF32 where devices have it: true or false")
      ->capture_default_str();
  command->add_option("--fixed", flags->fixed,
                      "Price this: data=8,tensor=8,pipeline=8,micro_batch=1,interleave=3,recompute=full,"
                      "sequence_parallel=true,zero=1");
  command->add_option("--pin", flags->pins, "Search the rest: tensor=8,recompute=none");
  command->add_option("--memory", flags->memory, "GiB of each device; by default the cluster's, less its reserve");
  command
      ->add_option("--search", flags->request.search, "How op cuts are found: propagation, dynamic, recursive or exact")
      ->capture_default_str();
  command->add_option("--out", flags->out, "Write the plan as a text that train runs: partita train --plan FILE");
  command->add_option("--html", flags->html, "Write a page to look at, one file that needs nothing else");
  command->add_flag("--json", flags->json, "For programs");
  command->footer(
      "Example: partita plan gpt:layers=24,hidden=2048,heads=16 --cluster a100-80:4 --fixed data=8,tensor=4");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_plan(*flags);
  });
}

}  // namespace partita
