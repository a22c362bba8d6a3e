#pragma once
// Seconds and bytes of one training step under a configuration, and where they go.

#include "planning/configuration.h"
#include "planning/unit_costs.h"

namespace partita {

/// What makes up a step of the slowest rank; the parts add up to the step.
struct Breakdown {
  double compute = 0;                            // seconds in kernels
  std::map<Collective, double> communication{};  // seconds in which nothing else runs
  double bubble = 0;                             // in which the ranks of a stage wait for another stage
  double update = 0;                             // of parameters, and what the software adds to a step
};

/// Bytes of the largest rank of a stage.
struct StageMemory {
  double parameters = 0, gradients = 0, optimizer = 0;  // optimizer: states and the masters
  double activations = 0;                               // of all micro-batches in flight
  double workspace = 0;
  double total() const { return parameters + gradients + optimizer + activations + workspace; }
};

struct Price {
  double step_seconds = 0;
  double tflops_per_device = 0;  // 1e12 floating-point operations of the network, without what is recomputed
  Breakdown breakdown;
  std::vector<StageMemory> memory;            // by group of stages
  std::vector<std::vector<size_t>> layers{};  // per stage: how many of each unit's copies it has

  double peak_memory() const;
};

struct PriceRequest {
  const FoldedGraph& folded;
  const LayerCosts& costs;
  Configuration configuration;  // completed
  int64_t batch = 1;            // rows of the global batch
  double step_flops = 0;        // floating-point operations of the network in a step, on all ranks together
  const Cluster& cluster;
  Precision precision;
};

/// Stages are contiguous units; copies of a repeated layer are dealt out evenly where they divide, otherwise so that
/// the slowest stage takes the least time. Throws InvalidArgument for more stages than units.
Price price_of(const PriceRequest& request);

}  // namespace partita
