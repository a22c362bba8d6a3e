#pragma once
// A training at one step in one safetensors file: every state, and the training's position.

#include <optional>

#include "runtime/checkpoint/safetensors_header.h"
#include "runtime/checkpoint/states.h"

namespace partita {

/// A scale of the loss, and what steps with it led to.
struct LossScaleState {
  static constexpr double kMaxScale = 0x1p100;

  double scale = 1;        // from 1 to kMaxScale
  int64_t good_steps = 0;  // in a row, since a dynamic scale changed
  int64_t bad_steps = 0;   // in a row, while the scale could not shrink
  bool operator==(const LossScaleState&) const = default;
};

/// Returns the state of these numbers, as a file has them; none if they are not those of a loss scale: a number from 1
/// to LossScaleState::kMaxScale and two counts, whole numbers from 0 to 2^53.
std::optional<LossScaleState> loss_scale_state(double scale, double good_steps, double bad_steps);

/// Position of a training, and what its order of rows depends on.
struct TrainingPosition {
  int64_t step = 0;  // steps run so far
  int64_t batch = 0, rows = 0;
  uint64_t seed = 0;
  std::optional<double> learning_rate;  // set by a callback in place of the schedule's
  Metadata metadata{};                  // other metadata of the file
  std::optional<LossScaleState> loss_scale{};
};

/// Writes all states, the position and its metadata to `path`, which is replaced as a whole. Throws
/// RuntimeFailure(non_finite) if a state is not finite, RuntimeFailure(cannot_write) if the file cannot be written; the
/// old file then stays.
void write_checkpoint(const std::string& path, const States& states, const TrainingPosition& position);

/// Returns the tensors, by name, that store a position without its metadata: i64[4] (step, batch, rows, seed), an f64
/// scalar, the learning rate, or -1 if none is set, and, if the position has a loss scale, f64[3] (scale, good steps,
/// bad steps).
std::map<std::string, Array> position_tensors(const TrainingPosition& position);
/// Returns the position that the tensors of `position_tensors` store, without metadata, and removes them from
/// `tensors`. Throws InvalidFile, naming `path`, if the first two are missing, or one has another type or numbers that
/// are not those of a position.
TrainingPosition take_position(std::map<std::string, Array>& tensors, const std::string& path);

/// Whether these are the tensors of a checkpoint rather than of weights alone: one of them stores a position.
bool is_checkpoint(const std::map<std::string, Array>& tensors);

/// Requires that `now`, a training, has the order of rows of `then`, that of the checkpoint: batch, number of rows, and
/// seed. Throws InvalidFile, naming `path`, if one of them differs.
void require_same_rows(const TrainingPosition& then, const TrainingPosition& now, const std::string& path);

/// Overwrites all states of `graph` in `states` by `tensors`, converted to their types, and returns the position of the
/// checkpoint, without metadata. `now` is the position of the training that takes them. Throws InvalidFile, naming
/// `path`, if the tensors are not a checkpoint, or one of another network, optimizer, or order of rows than `now`;
/// `states` are unchanged then.
TrainingPosition take_checkpoint(States& states, const Graph& graph, const std::map<std::string, Array>& tensors,
                                 const TrainingPosition& now, const std::string& path);

}  // namespace partita
