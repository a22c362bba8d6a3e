// partita plan: what a training step costs on a cluster that nobody needs to have.

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/output_files.h"
#include "planner/planner.h"
#include "planner/pricing/layers/quantities.h"
#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

struct PlanFlags {
  PlanRequest request;
  std::string dtype = "f32", reduce_dtype = "f32", search = "exact", fixed, pins, out, html;
  std::optional<double> memory{};  // GiB
  std::optional<int64_t> batch{};
  std::string collectives = "auto", attention = "auto";
  bool json = false;
};

void write_files(const PlannedJob& job, const PlanFlags& flags) {
  std::vector<std::pair<std::string, std::string>> texts;
  PlannedJob own = job;
  if (!flags.out.empty()) own.file = plan_file_of(job);  // the page shows its cuts, too
  if (!flags.out.empty()) texts.emplace_back(flags.out, print(*own.file));
  if (!flags.html.empty()) texts.emplace_back(flags.html, plan_page(own));
  save_texts(texts);
}

/// Requires --check for flags of its programs. Throws InvalidArgument if one has a value without it.
void require_check(const PlanFlags& flags) {
  const PlanFlags usual;
  for (const auto& [flag, value, other] : {std::tuple("--collectives", flags.collectives, usual.collectives),
                                           std::tuple("--attention", flags.attention, usual.attention)}) {
    if (flags.request.check || value == other) continue;
    throw InvalidArgument("[{}] has no effect, got {} without --check, expected both", flag, value);
  }
}

PlanRequest request_of(const PlanFlags& flags) {
  require_check(flags);
  PlanRequest request = flags.request;
  if (flags.batch) check_range("--batch", *flags.batch, 1);
  request.batch = flags.batch.value_or(0);
  if (!flags.fixed.empty() && !flags.pins.empty()) {
    throw InvalidArgument(
        "[--pin] has no effect, got --fixed, which leaves nothing open, expected only one of the two");
  }
  if (flags.memory && !(*flags.memory > 0 && *flags.memory * kGiB <= kMaxMemory)) {
    throw InvalidArgument("[--memory] out of range, got {}, expected GiB above 0, at most {:g}", *flags.memory,
                          kMaxMemory / kGiB);
  }
  request.memory = flags.memory.value_or(0) * kGiB;
  request.search = parse_name<Search>("--search", flags.search);
  request.dtype = parse_planned_dtype("--dtype", flags.dtype);
  request.reduce_dtype = parse_name<ReduceDType>("--reduce-dtype", flags.reduce_dtype);
  if (request.dtype == DType::f64 && request.reduce_dtype == ReduceDType::bf16) {
    throw InvalidArgument("[--reduce-dtype] has no effect, got bf16 with --dtype f64, expected --dtype f32 or bf16");
  }
  request.collectives = parse_name<CollectiveChoice>("--collectives", flags.collectives);
  request.attention = parse_name<AttentionChoice>("--attention", flags.attention);
  request.pins = parse_pins(flags.pins);
  request.runner_up = flags.fixed.empty() && flags.pins.empty() && !flags.json;
  request.where = "--fixed";
  return request;
}

void run_plan(const PlanFlags& flags) {
  const PlanRequest request = request_of(flags);
  const Configuration fixed = parse_configuration(flags.fixed);
  require_outputs({{"--out", flags.out}, {"--html", flags.html}},
                  {{"MODEL", request.model}, {"--cluster", request.cluster}});
  const bool writes = !flags.out.empty() || !flags.html.empty(), is_fixed = !flags.fixed.empty();
  if (writes) require_network(request);
  const PlannedJob job = is_fixed ? price(request, fixed) : plan(request);
  if (!is_fixed) require_fit(job);
  if (writes) write_files(job, flags);
  if (flags.json) {
    std::cout << to_json(job.priced);
    return;
  }
  std::cout << print(job.priced) << "\n" << print_layers(job);
  if (request.runner_up) std::cout << "\n" << print_others(job);
  if (!job.fits) warn(print_excess(job));
}

/// Adds the flags that compile the programs of a plan.
void add_check(CLI::App& command, PlanFlags& flags) {
  command.add_flag("--check", flags.request.check,
                   "Compile the programs of the rank that needs the most memory, and search on until they fit; needs "
                   "the plugin of the devices (partita compile), not the devices");
  command
      .add_option(
          "--collectives", flags.collectives,
          "Of the programs of --check: cut, with messages of the host; whole, with collectives of the device; or auto, "
          "as partita train chooses")
      ->capture_default_str();
  command
      .add_option(
          "--attention", flags.attention,
          "Of the programs of --check: composed, with its scores in memory; fused, by cuDNN; or auto, as partita train "
          "chooses")
      ->capture_default_str();
}

}  // namespace

void add_plan(CLI::App& app) {
  const auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand("plan", "Price a training step on a cluster, without the cluster");
  command
      ->add_option("MODEL", flags->request.model,
                   "A model, such as gpt:layers=96,hidden=12288, or a forward graph, graph.txt")
      ->required();
  command->add_option("--cluster", flags->request.cluster, "PRESET[:NODES][@SOFTWARE] or a TOML file")
      ->capture_default_str();
  command
      ->add_option(
          "--target", flags->request.target,
          "CHIP[:NODES][@SOFTWARE]: the preset of a chip for which partita compile compiles, instead of --cluster")
      ->type_name("CHIP");
  command->add_option("--batch", flags->batch, "Rows of the global batch; by default the model's");
  command->add_option("--dtype,--precision", flags->dtype, "Type of activations and products: f32, f64, bf16 or f16")
      ->capture_default_str();
  command
      ->add_option("--reduce-dtype", flags->reduce_dtype,
                   "Type in which sums of parameters' gradients over ranks are sent: f32 or bf16")
      ->capture_default_str();
  command
      ->add_option("--tf32", flags->request.tf32,
                   "Whether products of f32 are priced in TF32 where devices have it: true or false")
      ->capture_default_str();
  command->add_option(
      "--fixed", flags->fixed,
      "Price this configuration: "
      "data=8,tensor=8,pipeline=8,micro_batch=1,interleave=3,recompute=full,sequence_parallel=true,zero=1");
  command->add_option(
      "--pin", flags->pins,
      "Keep these and search the rest: tensor=8,recompute=none. pipeline counts groups of whole layers "
      "(blocks that repeat, and what comes before and after); --stages of train cuts between any nodes");
  command->add_option("--memory", flags->memory, "GiB of each device; by default the cluster's, less its reserve");
  add_check(*command, *flags);
  command->add_option("--search", flags->search, "How op cuts are found: propagation, dynamic, recursive or exact")
      ->capture_default_str();
  command->add_option("--out", flags->out, "Write the plan to a file, to run with partita train --plan FILE");
  command->add_option("--html", flags->html, "Write an HTML page that needs no other files");
  command->add_flag("--json", flags->json, "For programs");
  command->footer(
      "Example: partita plan gpt:layers=24,hidden=2048,heads=16 --cluster a100-80:4 --fixed data=8,tensor=4");
  command->callback([command, flags] {
    refuse_empty(*command);
    if (!flags->request.target.empty() && command->count("--cluster") > 0) {
      throw InvalidArgument("[--target] --cluster names the devices, too, got {} and {}, expected only one of the two",
                            flags->request.target, flags->request.cluster);
    }
    run_plan(*flags);
  });
}

}  // namespace partita
