#pragma once
// How micro-batches cut a graph, whatever ranks do.

#include "ir/graph/rules.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// Over the axis of micro-batches alone, axis 0 of a mesh without ranks.
struct MicroCuts {
  int64_t count = 1;                      // of micro-batches
  std::vector<std::vector<Axes>> values;  // per value: its dimensions
  std::vector<Cut> nodes;                 // per node: its factors
  /// Per node: whether it makes, for each micro-batch or of all of them, what a node of one needs of all of them.
  std::vector<bool> before;
  std::vector<Reduce> partial;  // per value: how micro-batches add up to it; none: they do not
  std::vector<bool> late;       // per value: made by a node that needs all micro-batches
};

/// What a node of one micro-batch may need of all of them.
enum class Needed {
  made_of_inputs,  // what inputs, and states that a training does not change, make: a loop before the others makes it
  anything,        // further passes over the rows make it
};

/// Of micro-batches that divide the batch. Throws InvalidArgument for a node of one micro-batch that needs other
/// results of all of them.
MicroCuts find_micro_cuts(const Graph& graph, const Rules& rules, int64_t count,
                          Needed needed = Needed::made_of_inputs);

/// "net/fc1/matmul (main.cpp:12)".
std::string described_with_line(const Node& node);

}  // namespace partita
