// How long it takes to plan again after a pin, the network and its costs being there.
//
//   bench_replan [MODEL CLUSTER BATCH]

#include <chrono>

#include "cluster/presets.h"
#include "device/device.h"
#include "network/build_graph.h"
#include "ops/registry.h"
#include "planning/search_configurations.h"
#include "usage.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

void run(const std::string& spec, const std::string& where, int64_t batch) {
  const ZooModel model = make_model(spec);
  const Cluster cluster = cluster_named(where);
  const Graph forward = build_graph(model.network(model.recipe.training.loss), all_ops(),
                                    {.batch = batch, .columns = model.columns(), .statistics_groups = batch});
  const std::unique_ptr<Device> device = make_cpu_device(all_ops(), /*threads=*/1);
  const NetworkOptions options{.training = {.optimizer = model.recipe.optimizer},
                               .precision = Precision::of(DType::bf16)};
  NetworkCosts costs(forward, all_ops(), device->catalog(), cluster, options);
  const double memory = cluster.device.memory - cluster.reserve_memory;
  for (const char* pins : {"", "", "tensor=8", "pipeline=4", "zero=1", "recompute=full", "micro_batch=1", "data=8",
                           "tensor=4,pipeline=8"}) {
    const auto begin = std::chrono::steady_clock::now();
    const ConfigurationSearch found = search_configurations(
        {.costs = costs, .ranks = cluster.ranks(), .memory_bytes = memory, .pins = parse_pins(pins)});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    fmt::print("{:<20} {:8.1f} ms  {}\n", *pins == 0 ? "(nothing pinned)" : pins, 1e3 * seconds,
               found.best ? print(found.best->configuration) : "nothing fits");
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  if (partita::asks_for_help(argc, argv, "[MODEL CLUSTER BATCH]")) return 0;
  try {
    partita::run(argc > 1 ? argv[1] : "gpt:175b", argc > 2 ? argv[2] : "a100-80:128",
                 argc > 3 ? std::atoll(argv[3]) : 1536);
  } catch (const partita::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
