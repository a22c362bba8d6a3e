#pragma once
// Which pipeline stage runs which node of a graph.

#include "graph/graph.h"

namespace partita {

/// A node that needs nothing but constants and counters runs on every stage that uses it.
inline constexpr int kEveryStage = -1;

struct StageAssignment {
  int64_t stages = 1;
  std::vector<int> nodes;   // per node: its stage or kEveryStage
  std::vector<int> states;  // per state: the stage that owns it; counters are kept on every stage that uses them
};

}  // namespace partita
