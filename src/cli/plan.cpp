// partita plan: what a training step costs on a cluster that nobody needs to have.

#include <chrono>
#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/options.h"
#include "cluster/presets.h"
#include "network/build_graph.h"
#include "ops/registry.h"
#include "planning/print_price.h"
#include "planning/search_configurations.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

struct PlanFlags {
  std::string model, cluster = "cpu", dtype = "f32", fixed, pins;
  int64_t batch = 0;
  double memory = 0;  // GiB
  bool json = false;
};

DType dtype_of(const std::string& text) {
  const std::vector<std::string> names{"f32", "f64", "bf16", "f16"};
  return std::array{DType::f32, DType::f64, DType::bf16, DType::f16}[position_of_name("--dtype", text, names)];
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
      "[plan] nothing fits, got {:.2f} GiB of each device, expected {:.2f} GiB or more: that is what {} takes",
      memory / kGiB, least.price.peak_memory() / kGiB, print(least.configuration)));
}

void run_plan(const PlanFlags& flags) {
  const auto begin = std::chrono::steady_clock::now();
  const ZooModel model = make_model(flags.model);
  const Configuration fixed = parse_configuration(flags.fixed);
  Cluster cluster = open_cluster(flags.cluster);
  if (!flags.fixed.empty()) cluster = on_ranks(cluster, fixed.ranks());
  if (flags.batch != 0) check_range("--batch", flags.batch, 1);
  const int64_t batch = flags.batch > 0 ? flags.batch : model.recipe.training.batch;
  const Graph forward =
      build_graph(model.network(model.recipe.training.loss), all_ops(), {.batch = batch, .columns = model.columns(), .statistics_groups = batch});
  const auto device = make_cpu_device(all_ops(), /*threads=*/1);
  NetworkCosts costs(
      forward, all_ops(), device->catalog(), cluster,
      {.training = {.optimizer = model.recipe.optimizer}, .precision = Precision::of(dtype_of(flags.dtype))});
  PricedPlan plan{.model = flags.model, .cluster = flags.cluster, .ranks = cluster.ranks(), .batch = batch};
  if (!flags.fixed.empty()) {
    plan.configuration = completed(fixed, fixed.ranks(), batch);
    plan.price = costs.price(plan.configuration);
    plan.lower_bound_seconds = costs.stages(plan.configuration)->lower_bound(plan.configuration.zero);
  } else {
    const double memory = flags.memory > 0 ? flags.memory * kGiB : cluster.device.memory - cluster.reserve_memory;
    ConfigurationSearch search = search_configurations(
        {.costs = costs, .ranks = cluster.ranks(), .memory_bytes = memory, .pins = parse_pins(flags.pins)});
    if (!search.best) refuse_memory(search, memory);
    plan.configuration = search.best->configuration;
    plan.price = std::move(search.best->price);
    plan.lower_bound_seconds = search.lower_bound_seconds;
    if (getenv("DEBUG_SEARCH"))
      fmt::print(stderr, "considered {} followed {} lowered {}\n", search.considered, search.followed, costs.lowered());
  }
  plan.search_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::cout << (flags.json ? to_json(plan) : print(plan, costs.folded()));
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
  command->add_flag("--json", flags->json, "For programs");
  command->footer(
      "Example: partita plan gpt:layers=24,hidden=2048,heads=16 --cluster a100-80:4 --fixed data=8,tensor=4");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_plan(*flags);
  });
}

}  // namespace partita
