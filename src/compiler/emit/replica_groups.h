#pragma once
// The groups of ranks of a collective, as replicas of a program.

#include <string>

#include "compiler/partition/local_graph.h"

namespace partita {

struct ReplicaGroups {
  std::string text;  // attribute of an operation: "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"
  int64_t ways = 1;  // ranks of each group
};

/// Returns the groups along `axes`, the ranks of each in its order.
ReplicaGroups replica_groups(const Mesh& mesh, const Axes& axes);

}  // namespace partita
