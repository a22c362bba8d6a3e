#pragma once
// How micro-batches cut a graph, whatever ranks do.

#include "graph/rules.h"
#include "sharding/sharding.h"

namespace partita {

/// Over the axis of micro-batches alone, axis 0 of a mesh without ranks.
struct MicroCuts {
  int64_t count = 1;                      // of micro-batches
  std::vector<std::vector<Axes>> values;  // per value: its dimensions
  std::vector<Cut> nodes;                 // per node: its factors
  /// Per node: whether it makes, for each micro-batch or of all of them, what a node of one needs of all of them.
  std::vector<bool> before;
};

/// Of micro-batches that divide the batch. Throws InvalidArgument for a node of one micro-batch that needs what only
/// all of them make.
MicroCuts find_micro_cuts(const Graph& graph, const Rules& rules, int64_t count);

/// "net/fc1/matmul (main.cpp:12)".
std::string described_with_line(const Node& node);

}  // namespace partita
