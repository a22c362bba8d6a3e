#pragma once
// Simulation of a step of a configuration, layer by layer: its exposed communication, its timeline and its memory.

#include "planner/pricing/step/price.h"
#include "planner/simulation/simulate_program.h"

namespace partita {

struct LayerOfStage {
  size_t unit = 0;  // index in the folded graph
  Recompute policy = Recompute::none;
};

/// An activity of a group of stages. Only the section of the last micro-batch that makes gradients of weights has spans
/// per layer. Elsewhere `layer` is none, and a span is a whole section.
struct LayerSpan {
  enum Kind { forward, backward, weight, gather, reduce, transfer, update } kind = forward;
  int stage = 0;
  std::optional<LayerOfStage> layer{};
  int64_t micro_batch = 0;
  double begin = 0, end = 0;  // seconds from the start of the step
};

/// The step of a group of stages. Its seconds add up to the step without the overhead of the software.
struct LayerStepGroup {
  double compute = 0, update = 0;     // seconds in kernels
  double waiting = 0;                 // seconds of waiting for the host to issue a kernel
  SecondsByKind exposed{};            // seconds of exposed communication
  double bubble = 0;                  // seconds of waiting for other groups
  std::vector<MemoryPoint> memory{};  // bytes of a rank, by time; on request
  std::vector<LayerSpan> spans{};     // on request
};

struct LayerStep {
  double seconds = 0;
  /// The part of `seconds` of micro-batches that repeat others; these have no spans.
  double repeated = 0;
  std::vector<LayerStepGroup> groups;
};

struct LayerStepOptions {
  bool spans = false, memory = false;  // whether the result includes them
};

/// Simulates a step of the stages at level `zero` of optimizer sharding, instead of that of their configuration.
/// Gradients are reduced in buckets of a few MiB, overlapped with the backward pass of the last micro-batch. At level 3
/// the parameters of the next layer are prefetched. Values are sent between stages while both compute, unless the
/// software waits for transfers. Overlapped communication slows computation down by the cluster's factor. If there are
/// many micro-batches, only a few rounds are simulated; the others repeat the busiest group. Throws InvalidArgument if
/// the order has more than kMaxStageMicroBatches stages times micro-batches.
LayerStep simulate_step(StagePrices& stages, int64_t zero, const LayerStepOptions& options = {});

/// Simulates a step at level `zero` of optimizer sharding and returns its price. The breakdown is that of the group
/// that waits least for others. Throws as `simulate_step` does.
Price price_of(StagePrices& stages, int64_t zero);

}  // namespace partita
