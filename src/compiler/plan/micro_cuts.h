#pragma once
// Cuts of a graph over micro-batches, independent of those over ranks.

#include "ir/graph/rules.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// Cuts over the axis of micro-batches alone, which is axis 0 of a mesh without ranks.
struct MicroCuts {
  int64_t count = 1;                      // number of micro-batches
  std::vector<std::vector<Axes>> values;  // per value: axes of its dimensions
  std::vector<Cut> nodes;                 // per node: axes of its factors
  /// Per node: whether it runs before the first micro-batch, to compute what a node of one needs of all of them.
  std::vector<bool> before;
  std::vector<Reduce> partial;  // per value: how it accumulates over micro-batches; none: it does not
  std::vector<bool> late;       // per value: whether its node needs all micro-batches
};

/// Results of all micro-batches that a node of one may need.
enum class Needed {
  made_of_inputs,  // results of only inputs and states that training does not change: an earlier loop makes them
  anything,        // any results: further passes over the rows make them
};

/// Finds the cuts for `count` micro-batches; `count` must divide the batch. Throws InvalidArgument if `count` is not in
/// 1 to kMaxMicroBatches, or if a node of one micro-batch needs a result of all of them that `needed` excludes.
MicroCuts find_micro_cuts(const Graph& graph, const Rules& rules, int64_t count,
                          Needed needed = Needed::made_of_inputs);

/// Returns the node's scope, name and source line: "net/fc1/matmul (main.cpp:12)". A scope or line that it does not
/// have is left out.
std::string described_with_line(const Node& node);

}  // namespace partita
