#pragma once
// Functions that fill the states of a program on its ranks: with initial values, weights of files, or whole states.

#include "ir/graph/graph.h"
#include "runtime/checkpoint/states.h"
#include "runtime/checkpoint/weight_source.h"
#include "training/rank_run.h"

namespace partita {

/// Fills states with what the source has, if there is one, else with their initial values. An average begins as its
/// parameter. The arguments outlive it. Throws what reading the source throws.
FillState fresh_states(const Graph& graph, uint64_t seed, const WeightSource* source);
/// Fills states with parts of whole ones, which outlive it.
FillState states_from(const States& states);

}  // namespace partita
