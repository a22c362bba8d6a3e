#pragma once
// A training at one step in one safetensors file: every state, and the training's position.

#include <functional>

#include "runtime/checkpoint/kinds.h"
#include "runtime/checkpoint/position.h"
#include "runtime/checkpoint/states.h"

namespace partita {

/// Writes states, the position and its metadata to `path`, which is replaced as a whole. `read` returns the tensor of a
/// state in its type. Throws RuntimeFailure(cannot_write) if the file cannot be written, and what `read` throws; the
/// old file then stays.
void write_checkpoint(const std::string& path, const std::vector<SavedState>& states,
                      const std::function<Array(const std::string& name)>& read, const TrainingPosition& position);
/// Writes states that are in memory. Those without a kind are parameters. Throws RuntimeFailure(non_finite) if a state
/// is not finite.
void write_checkpoint(const std::string& path, const States& states, const StateKinds& kinds,
                      const TrainingPosition& position);

/// Returns the tensors, by name, that store a position without what `metadata_of` has: i64[4] (step, batch, rows,
/// seed), an f64 scalar, the learning rate, or -1 if none is set, and, if the position has a loss scale, f64[3] (scale,
/// good steps, bad steps).
std::map<std::string, Array> position_tensors(const TrainingPosition& position);
/// Returns the position that the tensors of `position_tensors` store, without metadata, and removes them from
/// `tensors`. Throws InvalidFile, naming `path`, if the first two are missing, or one has another type or numbers that
/// are not those of a position.
TrainingPosition take_position(std::map<std::string, Array>& tensors, const std::string& path);

/// Throws InvalidFile, naming `path`: no tensor stores the position of a training.
[[noreturn]] void refuse_without_position(const std::string& path);

/// Whether these are the tensors of a checkpoint rather than of weights alone: one of them stores a position.
bool is_checkpoint(const std::map<std::string, Array>& tensors);

}  // namespace partita
