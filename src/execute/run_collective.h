#pragma once
// Binds one collective node to its buffers and its group.

#include <functional>

#include "execute/groups.h"

namespace partita {

/// A function that runs the node on dense local operands. `rank` is this rank of the mesh.
std::function<void()> bind_collective(const LocalGraph& local, NodeId node, int64_t rank, const void* input,
                                      void* output, int64_t bytes, const Groups& groups);

}  // namespace partita
