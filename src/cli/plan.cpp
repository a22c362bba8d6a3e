// partita plan: what a training step costs on a cluster that nobody needs to have.

#include <chrono>
#include <iostream>
#include <memory>

#include "checkpoint/weights.h"
#include "cli/command_line.h"
#include "cli/options.h"
#include "cluster/presets.h"
#include "job/program.h"
#include "network/build_graph.h"
#include "ops/registry.h"
#include "planning/job_of.h"
#include "planning/plan_file.h"
#include "planning/print_price.h"
#include "planning/search_configurations.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

struct PlanFlags {
  std::string model, cluster = "cpu", dtype = "f32", fixed, pins, out, search = "propagation";
  int64_t batch = 0;
  double memory = 0;  // GiB
  bool json = false;
};

DType dtype_of(const std::string& text) {
  constexpr std::array kFloats{DType::f32, DType::f64, DType::bf16, DType::f16};
  std::vector<std::string> names;
  for (const DType dtype : kFloats) names.emplace_back(name_of(dtype));
  return kFloats[position_of_name("--dtype", text, names)];
}

/// The part of a cluster that has so many ranks; others are idle.
Cluster on_ranks(const Cluster& cluster, int64_t ranks) {
  if (ranks <= cluster.ranks()) return resized(cluster, ranks);
  throw InvalidArgument(fmt::format("[--fixed] more ranks than the cluster has, got {}, expected at most {} of {}",
                                    ranks, cluster.ranks(), cluster.name));
}

constexpr double kGiB = 1 << 30;

[[noreturn]] void refuse_memory(const ConfigurationSearch& search, double memory) {
  const PricedConfiguration& least = *search.least;
  throw InvalidArgument(fmt::format(
      "[plan] nothing fits, got {:.4g} GiB of each device, expected --memory {:.4g} or more, or more nodes: "
      "that is what {} takes",
      memory / kGiB, least.price.peak_memory() / kGiB, print(least.configuration)));
}

/// As a whole, or not at all.
void write_report(std::string_view flag, const std::string& path, const std::string& text) {
  try {
    save_text(path, text);
  } catch (const RuntimeFailure& error) {
    throw RuntimeFailure(error.code(), fmt::format("[{}] cannot write {} ({})", flag, path, error.what()));
  }
}

/// What one command looks at.
class Planner {
 public:
  explicit Planner(const PlanFlags& flags)
      : flags_(flags),
        search_(parse_name<Search>("--search", flags.search)),
        model_(make_model(flags.model)),
        fixed_(parse_configuration(flags.fixed)),
        cluster_(cluster_of(flags, fixed_)),
        batch_(flags.batch > 0 ? flags.batch : model_.recipe.training.batch),
        // Of batch norms each row has statistics of its own, so that any micro-batch can be priced.
        forward_(build_graph(model_.network(model_.recipe.training.loss), all_ops(),
                             {.batch = batch_, .columns = model_.columns(), .statistics_groups = batch_})),
        device_(make_cpu_device(all_ops(), /*threads=*/1)),
        costs_(
            forward_, all_ops(), device_->catalog(), cluster_,
            {.training = {.optimizer = model_.recipe.optimizer}, .precision = Precision::of(dtype_of(flags.dtype))}) {}

  PricedPlan plan() {
    PricedPlan plan{.model = flags_.model, .cluster = flags_.cluster, .ranks = cluster_.ranks(), .batch = batch_};
    if (!flags_.fixed.empty()) {
      plan.configuration = completed(fixed_, fixed_.ranks(), batch_);
      const std::unique_ptr<StagePrices> stages = costs_.stages(plan.configuration);
      plan.price = stages->price(plan.configuration.zero);
      plan.lower_bound_seconds = stages->lower_bound(plan.configuration.zero);
      return plan;
    }
    ConfigurationSearch search = searched(parse_pins(flags_.pins));
    if (!search.best) refuse_memory(search, memory());
    plan.configuration = search.best->configuration;
    plan.price = std::move(search.best->price);
    plan.lower_bound_seconds = search.lower_bound_seconds;
    return plan;
  }

  /// The best of each known kind, beside a plan.
  std::string print_templates(const PricedPlan& plan) {
    std::string text;
    for (const KnownTemplate& known : known_templates()) {
      const ConfigurationSearch search = searched(known.pins);
      text += fmt::format("{:<22} ", known.name);
      if (search.best) {
        const double seconds = search.best->price.step_seconds;
        text += fmt::format("{:.4g} s, {:+.1f} %: {}\n", seconds, 100 * (seconds / plan.price.step_seconds - 1),
                            print(search.best->configuration));
      } else {
        text += fmt::format("does not fit: {:.4g} GiB\n", search.least->price.peak_memory() / kGiB);
      }
    }
    return text;
  }

  PlanFile plan_file(const PricedPlan& plan) const {
    JobConfig job = model_.recipe;
    job.model = flags_.model;
    job.training.batch = batch_;
    job.plan.options.search = search_;
    job = completed(job_of(std::move(job), plan.configuration, plan.price, costs_.folded(), forward_), Place{.cores = 1});
    const Network network = model_.network(job.training.loss);
    const Program program = make_program(job, {.network = network,
                                               .columns = model_.columns(),
                                               .batch = batch_,
                                               .ranks = plan.configuration.ranks(),
                                               .last = Stage::training});
    PlanFile file = plan_file_of({job, plan.configuration, program.graph, all_ops()});
    file.dtype = dtype_of(flags_.dtype);
    file.cluster = flags_.cluster;
    file.network = fingerprint_of_network(forward_);
    file.predicted = PredictedStep{.step_seconds = plan.price.step_seconds};
    for (const StageMemory& memory : plan.price.memory) file.predicted->memory_bytes.push_back(memory.total());
    return file;
  }

  const FoldedGraph& folded() const { return costs_.folded(); }

 private:
  static Cluster cluster_of(const PlanFlags& flags, const Configuration& fixed) {
    const Cluster cluster = open_cluster(flags.cluster);
    return flags.fixed.empty() ? cluster : on_ranks(cluster, fixed.ranks());
  }

  double memory() const {
    if (flags_.memory > 0) return flags_.memory * kGiB;
    const double shared = cluster_.cores > 0 ? static_cast<double>(cluster_.levels.front().size) : 1;  // of a host
    return cluster_.device.memory / shared - cluster_.reserve_memory;
  }

  ConfigurationSearch searched(const Pins& pins) {
    return search_configurations({.costs = costs_, .ranks = cluster_.ranks(), .memory_bytes = memory(), .pins = pins});
  }

  const PlanFlags& flags_;
  const Search search_;
  const ZooModel model_;
  const Configuration fixed_;
  const Cluster cluster_;
  const int64_t batch_;
  const Graph forward_;
  const std::unique_ptr<Device> device_;
  NetworkCosts costs_;
};

void run_plan(const PlanFlags& flags) {
  const auto begin = std::chrono::steady_clock::now();
  if (flags.batch != 0) check_range("--batch", flags.batch, 1);
  if (!flags.fixed.empty() && !flags.pins.empty()) {
    throw InvalidArgument("[--pin] of no effect, got --fixed, which leaves nothing open, expected one of both");
  }
  if (!(flags.memory >= 0)) {
    throw InvalidArgument(fmt::format("[--memory] out of range, got {}, expected GiB above 0", flags.memory));
  }
  Planner planner(flags);
  PricedPlan plan = planner.plan();
  plan.search_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!flags.out.empty()) write_report("--out", flags.out, print(planner.plan_file(plan)));
  if (flags.json) {
    std::cout << to_json(plan);
    return;
  }
  std::cout << print(plan, planner.folded());
  if (flags.fixed.empty() && flags.pins.empty()) std::cout << "\n" << planner.print_templates(plan);
}

}  // namespace

void add_plan(CLI::App& app) {
  const auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand("plan", "Price a training step on a cluster, without the cluster");
  command->add_option("MODEL", flags->model, "A model, as gpt:layers=96,hidden=12288")->required();
  command->add_option("--cluster", flags->cluster, "PRESET[:NODES] or a TOML file")->capture_default_str();
  command->add_option("--batch", flags->batch, "Rows of the global batch; by default the model's");
  command->add_option("--dtype", flags->dtype, "Of activations and products: f32, f64, bf16 or f16")
      ->capture_default_str();
  command->add_option("--fixed", flags->fixed,
                      "Price this: data=8,tensor=8,pipeline=8,micro_batch=1,interleave=3,recompute=full,"
                      "sequence_parallel=true,zero=1");
  command->add_option("--pin", flags->pins, "Search the rest: tensor=8,recompute=none");
  command->add_option("--memory", flags->memory, "GiB of each device; by default the cluster's, less its reserve");
  command->add_option("--search", flags->search, "How op cuts are found: propagation, dynamic, recursive or exact")
      ->capture_default_str();
  command->add_option("--out", flags->out, "Write the plan as a text that train runs: partita train --plan FILE");
  command->add_flag("--json", flags->json, "For programs");
  command->footer(
      "Example: partita plan gpt:layers=24,hidden=2048,heads=16 --cluster a100-80:4 --fixed data=8,tensor=4");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_plan(*flags);
  });
}

}  // namespace partita
