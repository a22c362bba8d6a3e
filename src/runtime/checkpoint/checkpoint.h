#pragma once
// A training at one step as one safetensors file: every state, and where the training is.

#include <optional>

#include "runtime/checkpoint/safetensors_header.h"
#include "runtime/checkpoint/states.h"

namespace partita {

/// Where a training is, and what its order of rows depends on.
struct TrainingPosition {
  int64_t step = 0;  // steps taken
  int64_t batch = 0, rows = 0;
  uint64_t seed = 0;
  std::optional<double> learning_rate;  // that a callback set in place of the schedule's
  Metadata metadata{};                  // what else the file says of the training
};

/// Replaces `path` as a whole. Throws RuntimeFailure: non_finite when a state is not finite, and cannot_write; the
/// old file stays.
void write_checkpoint(const std::string& path, const States& states, const TrainingPosition& position);

/// The tensors that say where a training is, by their names.
std::map<std::string, Array> position_tensors(const TrainingPosition& position);
/// What they say; they are taken out of `tensors`. Throws InvalidFile, naming `path`, when they are not there.
TrainingPosition take_position(std::map<std::string, Array>& tensors, const std::string& path);

/// Whether these are the tensors of a checkpoint rather than of weights alone.
bool is_checkpoint(const std::map<std::string, Array>& tensors);

/// Throws InvalidFile, naming `path`, when the order of rows is another: batch, number of rows, or seed.
void require_same_rows(const TrainingPosition& then, const TrainingPosition& now, const std::string& path);

/// Overwrites all states of `graph` and gives the position of the checkpoint. Throws InvalidFile, naming `path`, when
/// that is not a checkpoint, or one of another network, optimizer, or order of rows than `now`; `states` stay then.
TrainingPosition take_checkpoint(States& states, const Graph& graph, const std::map<std::string, Array>& tensors,
                                 const TrainingPosition& now, const std::string& path);

}  // namespace partita
