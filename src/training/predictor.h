#pragma once
// Predictions of a network for batches of one type, computed by one rank.

#include "training/model_states.h"

namespace partita {

/// Named arrays, in order.
using NamedArrays = std::vector<std::pair<std::string, Array>>;
using Predictor = std::function<NamedArrays(const NamedArrays&)>;

/// Compiles the network for batches of `rows` rows, with the present states; creates those that are missing. The result
/// is for one thread at a time, and throws InvalidArgument if a column is missing or does not fit, or an id is out of
/// range. Throws InvalidArgument if the network does not fit the columns or OMP_THREAD_LIMIT is below the threads,
/// RuntimeFailure(out_of_memory) if it does not fit the memory, and what ModelStates::prepare throws: InvalidArgument
/// if a training did not keep the states (unless `resumes`, a checkpoint waits to be read) or a state has another type,
/// MissingFile or InvalidFile for weights that wait to be loaded.
Predictor make_predictor(const ModelJob& job, ModelStates& states, bool resumes, const std::vector<Column>& columns,
                         int64_t rows);

}  // namespace partita
