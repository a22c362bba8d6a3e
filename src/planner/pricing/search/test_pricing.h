#pragma once
// For tests: networks of the zoo on clusters, and an exhaustive search.

#include <gtest/gtest.h>

#include <limits>

#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "planner/cluster/presets.h"
#include "planner/pricing/search/search_configurations.h"
#include "zoo/zoo.h"

namespace partita {

inline Graph forward_of_model(const std::string& model, int64_t batch) {
  const ZooModel zoo = make_model(model);
  return build_graph(zoo.network(zoo.recipe.training.loss), all_ops(),
                     {.batch = batch, .columns = zoo.columns(), .statistics_groups = batch});
}

/// A network on a cluster, which owns all that its costs refer to.
struct Priced {
  Priced(Graph forward, Cluster given, bool fold = true)
      : cluster(std::move(given)), graph(std::move(forward)), costs(make(fold)) {}
  Priced(Graph forward, const std::string& cluster_name, int64_t ranks = 0)
      : Priced(std::move(forward),
               ranks > 0 ? resized(cluster_named(cluster_name), ranks) : cluster_named(cluster_name)) {}
  std::unique_ptr<NetworkCosts> make(bool fold) const {
    const TrainingOptions training{.optimizer = {.kind = OptimizerKind::adamw}};
    return std::make_unique<NetworkCosts>(
        graph, all_ops(), cluster,
        NetworkOptions{.training = training, .precision = Precision::of(DType::bf16), .fold = fold});
  }
  Price price(const std::string& text) const { return costs->price(parse_configuration(text)); }
  ConfigurationSearch search(double memory = 0, const Pins& pins = {}) const {
    return search_configurations({.costs = *costs,
                                  .ranks = cluster.ranks(),
                                  .memory_bytes = memory > 0 ? memory : cluster.device.memory,
                                  .pins = pins});
  }
  Cluster cluster;
  Graph graph;
  std::unique_ptr<NetworkCosts> costs;
};

/// All configurations with the same policy everywhere that use every rank; listed independently of SearchedSpace.
inline std::vector<Configuration> uniform_grid(int64_t ranks, int64_t layers, int64_t batch) {
  std::vector<Configuration> all;
  for (int64_t tensor = 1; tensor <= ranks; ++tensor) {
    for (int64_t pipeline = 1; pipeline <= std::min(ranks / tensor, layers); ++pipeline) {
      const int64_t data = ranks / tensor / pipeline;
      if (data * tensor * pipeline != ranks || batch % data != 0) continue;
      for (int64_t rows = 1; rows <= batch / data; ++rows) {
        if (batch / data % rows != 0) continue;
        for (Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
          for (int64_t zero = 0; zero < (data > 1 ? 4 : 1); ++zero) {
            for (bool sequence : {false, true}) {
              if (sequence && tensor == 1) continue;
              all.push_back({.data = data,
                             .tensor = tensor,
                             .pipeline = pipeline,
                             .sequence_parallel = sequence,
                             .micro_batch = rows,
                             .recompute = recompute,
                             .zero = zero});
            }
          }
        }
      }
    }
  }
  return all;
}

/// The seconds of the best configuration of the grid that fits; infinite if none does. Expects that no configuration
/// takes less time than its lower bound.
inline double best_of_grid(const Priced& priced, double memory) {
  double best = std::numeric_limits<double>::infinity();
  for (const Configuration& configuration :
       uniform_grid(priced.cluster.ranks(), priced.costs->layers(), priced.costs->batch())) {
    try {
      const Price price = priced.costs->price(configuration);
      const Configuration whole = completed(configuration, configuration.ranks(), priced.costs->batch());
      EXPECT_LE(priced.costs->stages(whole).lower_bound(whole.zero), price.step_seconds * (1 + 1e-9)) << print(whole);
      if (price.peak_memory() <= memory) best = std::min(best, price.step_seconds);
    } catch (const InvalidArgument&) {  // heads that do not divide
    }
  }
  return best;
}

}  // namespace partita
