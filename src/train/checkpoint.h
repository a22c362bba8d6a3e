#pragma once
// A training at one step as one safetensors file: every state, and the number of steps taken.

#include "train/states.h"

namespace partita {

/// Replaces `path` as a whole. Throws RuntimeFailure(cannot_write).
void write_checkpoint(const std::string& path, const States& states, int64_t step);

/// Whether these are the tensors of a checkpoint rather than of weights alone.
bool is_checkpoint(const std::map<std::string, Array>& tensors);

/// Overwrites all states of `graph` and gives the number of steps taken. Throws InvalidFile, naming `path`, when that
/// is not a checkpoint, or one of another network or optimizer.
int64_t take_checkpoint(States& states, const Graph& graph, const std::map<std::string, Array>& tensors,
                        const std::string& path);

}  // namespace partita
