#pragma once
// A training for tests: a small network on generated rows.

#include "frontend/data/readers/synthetic.h"
#include "frontend/data/transforms/image_maps.h"
#include "frontend/data/views/map.h"
#include "frontend/data/views/shuffle.h"
#include "training/model.h"
#include "zoo/zoo.h"

namespace partita {

constexpr int64_t kSmallRows = 100, kSmallBatch = 24, kSmallSteps = 4;

inline DatasetPtr rows_of(Split split) {
  const DatasetPtr rows = make_synthetic({DType::u8, {8, 8, 1}}, 4, kSmallRows, /*seed=*/3, split);
  return map(split == Split::train ? shuffle(rows, 5) : rows, {"image"},
             chain({rescale(1.0 / 255, 0), normalize({0.5}, {0.25}), hwc_to_chw(), cast(DType::f64)}));
}

inline JobConfig small_config(int ranks, OptimizerKind optimizer = OptimizerKind::adamw) {
  return {.training = {.batch = kSmallBatch, .dtype = DType::f64},
          .optimizer = {.kind = optimizer},
          .schedule = {.kind = LrKind::cosine, .learning_rate = 0.01, .warmup_steps = 2},
          .ranks = {.count = ranks, .threads = 1},
          .console = {.quiet = true}};
}

inline Network small_network(const std::string& sizes = "hidden=16,layers=1,classes=4,dropout=0.2") {
  return make_model("mlp:" + sizes).network(Loss::sparse);
}

inline Model small_model(int ranks, OptimizerKind optimizer = OptimizerKind::adamw) {
  return Model(small_network(), small_config(ranks, optimizer), Place{.cores = 1});
}

/// Records the events of a training.
class EventRecorder : public Callback {
 public:
  std::vector<StepInfo> steps;
  std::vector<EpochInfo> epochs;
  void on_step_end(const StepInfo& info) override { steps.push_back(info); }
  void on_epoch_end(const EpochInfo& info) override { epochs.push_back(info); }
};

}  // namespace partita
