#pragma once
// A training at one step in one safetensors file: every state, and the training's position.

#include "runtime/checkpoint/position.h"
#include "runtime/checkpoint/states.h"

namespace partita {

/// Writes all states, the position and its metadata to `path`, which is replaced as a whole. Throws
/// RuntimeFailure(non_finite) if a state is not finite, RuntimeFailure(cannot_write) if the file cannot be written; the
/// old file then stays.
void write_checkpoint(const std::string& path, const States& states, const TrainingPosition& position);

/// Returns the tensors, by name, that store a position without what `metadata_of` has: i64[4] (step, batch, rows,
/// seed), an f64 scalar, the learning rate, or -1 if none is set, and, if the position has a loss scale, f64[3] (scale,
/// good steps, bad steps).
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
