#pragma once
// What a network makes of batches of one type, computed by one rank.

#include "training/model_states.h"

namespace partita {

/// Named arrays in an order of their own.
using NamedArrays = std::vector<std::pair<std::string, Array>>;
using Predictor = std::function<NamedArrays(const NamedArrays&)>;

/// Compiles the network for batches of `rows` rows, with the states of now. For one thread at a time.
Predictor make_predictor(const ModelJob& job, ModelStates& states, bool resumes, const std::vector<Column>& columns,
                         int64_t rows);

}  // namespace partita
