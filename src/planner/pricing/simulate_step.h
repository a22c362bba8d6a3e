#pragma once
// A step of a configuration, followed layer by layer: what of its communication is exposed, when what runs, the memory.

#include "planner/pricing/price.h"
#include "planner/simulation/simulate_program.h"

namespace partita {

struct LayerOfStage {
  size_t unit = 0;  // of the folded graph
  Recompute policy = Recompute::none;
};

/// Something that a group of stages does. Micro-batches in front of the last one are whole: `layer` is none.
struct LayerSpan {
  enum Kind { forward, backward, weight, gather, reduce, transfer, update } kind = forward;
  int stage = 0;
  std::optional<LayerOfStage> layer{};
  int64_t micro_batch = 0;
  double begin = 0, end = 0;  // seconds from the start of the step
};

/// The parts add up to the step, but for what the software adds to it.
struct LayerStepGroup {
  double compute = 0, update = 0;     // seconds in kernels
  double waiting = 0;                 // seconds in which the device waits for the host to issue one
  SecondsByKind exposed{};            // seconds in which nothing is computed because of it
  double bubble = 0;                  // seconds in which it waits for other groups
  std::vector<MemoryPoint> memory{};  // bytes of a rank, by time
  std::vector<LayerSpan> spans{};
};

struct LayerStep {
  double seconds = 0;
  /// Of these, those of micro-batches that repeat others; they have no spans.
  double repeated = 0;
  std::vector<LayerStepGroup> groups;
};

struct LayerStepOptions {
  bool spans = false, memory = false;  // whether they are kept
};

/// The step of some stages under a level of optimizer sharding (of a price of that level). Gradients are reduced beside
/// the backward of the last micro-batch, layer after layer in messages of a few MiB, parameters of level 3 gathered a
/// layer ahead, values of other stages sent beside what is computed; computation is slower meanwhile, as the cluster
/// says. Of many micro-batches a few rounds are followed; the others repeat the busiest group of these.
LayerStep simulate_step(StagePrices& stages, int64_t zero, const LayerStepOptions& options = {});

/// The same as a price: of the group that waits least for others.
Price price_of(StagePrices& stages, int64_t zero);

}  // namespace partita
