// How long it takes to plan again after a pin, the network and its costs being there.
//
//   bench_replan [MODEL] [CLUSTER] [BATCH] [RUNS]

#include <algorithm>
#include <chrono>
#include <ctime>

#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "planner/cluster/presets.h"
#include "planner/pricing/search/search_configurations.h"
#include "usage.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

/// Milliseconds by the clock, and of the processor.
struct Times {
  std::vector<double> wall, processor;

  template <class Run>
  void add(const Run& run) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t processor_begin = std::clock();
    run();
    processor.push_back(1e3 * static_cast<double>(std::clock() - processor_begin) / CLOCKS_PER_SEC);
    wall.push_back(1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
};

/// The 95th percentile.
double max_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto place = static_cast<size_t>(0.95 * static_cast<double>(values.size()) + 0.5);
  return values[std::max<size_t>(1, place) - 1];
}

/// Measures in each run a search without pins, then one with them.
void run(const std::string& spec, const std::string& where, int64_t batch, int runs) {
  const ZooModel model = make_model(spec);
  const Cluster cluster = cluster_named(where);
  const Graph forward = build_graph(model.network(model.recipe.training.loss), all_ops(),
                                    {.batch = batch, .columns = model.columns(), .statistics_groups = batch});
  const NetworkOptions options{.training = {.optimizer = model.recipe.optimizer},
                               .precision = Precision::of(DType::bf16)};
  const double memory = cluster.device.memory - cluster.reserve_memory;
  fmt::print("{:<20} {:>10} {:>10}\n", "p95 of ms", "first", "again");
  for (const char* pins :
       {"", "tensor=8", "pipeline=4", "zero=1", "recompute=full", "micro_batch=1", "data=8", "tensor=4,pipeline=8"}) {
    Times first, again;
    std::string found;
    for (int i = 0; i < runs; ++i) {
      NetworkCosts costs(forward, all_ops(), cluster, options);
      const auto search = [&](std::string_view text) {
        const ConfigurationSearch result = search_configurations(
            {.costs = costs, .ranks = cluster.ranks(), .memory_bytes = memory, .pins = parse_pins(text)});
        found = result.best ? print(result.best->configuration) : "nothing fits";
      };
      first.add([&] { search(""); });
      again.add([&] { search(pins); });
    }
    fmt::print("{:<20} {:10.1f} {:10.1f}  of the processor {:.1f} {:.1f}  {}\n", *pins == 0 ? "(nothing pinned)" : pins,
               max_of(first.wall), max_of(again.wall), max_of(first.processor), max_of(again.processor), found);
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage = "[MODEL] [CLUSTER] [BATCH] [RUNS]";
  return partita::run_benchmark(argc, argv, kUsage, /*required=*/0, [](const partita::Arguments& given) {
    partita::run(given.text(1, "gpt:175b"), given.text(2, "a100-80:128"), given.number(3, 1536), given.number(4, 20));
  });
}
