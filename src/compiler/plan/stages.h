#pragma once
// Which pipeline stage runs which node of a graph.

#include <map>

#include "ir/graph/graph.h"

namespace partita {

/// A node that needs nothing but constants and counters runs on every stage that uses it.
inline constexpr int kEveryStage = -1;

struct StageAssignment {
  int64_t stages = 1;
  std::vector<int> nodes;   // per node: its stage or kEveryStage
  std::vector<int> states;  // per state: the stage that owns it; counters are kept on every stage that uses them
};

/// The same by what nodes and states are called, which other graphs of a network have too.
struct NamedStages {
  int64_t stages = 1;
  /// Of forward nodes, by their layer and op and how many like them stand in front: "net/fc1/matmul 0".
  std::map<std::string, int> nodes;
  std::map<std::string, int> states;  // but for counters
};

}  // namespace partita
