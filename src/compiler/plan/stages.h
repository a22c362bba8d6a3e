#pragma once
// Assignment of a graph's nodes to pipeline stages.

#include <map>

#include "ir/graph/graph.h"

namespace partita {

/// The node needs only constants and counters, so it runs on every stage that uses it.
inline constexpr int kEveryStage = -1;

struct StageAssignment {
  int64_t stages = 1;
  std::vector<int> nodes;   // per node: its stage or kEveryStage
  std::vector<int> states;  // per state: the stage that owns it; kEveryStage for a counter, on all that use it
};

/// Assignment by names of nodes and states, which graphs of one network share.
struct NamedStages {
  int64_t stages = 1;
  /// Stages of forward nodes, by layer, op and number of earlier nodes like them: "net/fc1/matmul 0".
  std::map<std::string, int> nodes;
  std::map<std::string, int> states;  // without counters
};

}  // namespace partita
