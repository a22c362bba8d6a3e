#pragma once
// Binds one collective node to its buffers and its group.

#include <functional>

#include "execute/groups.h"

namespace partita {

struct CollectiveBuffers {
  const void* input;
  void* output;
  int64_t bytes;  // of the operand as it lies; all but all_reduce need it dense
  void* scratch;
  int64_t scratch_bytes;
};

/// A function that runs the node. `rank` is this rank of the mesh; the buffers, `local` and `groups` outlive it.
std::function<void()> bind_collective(const LocalGraph& local, NodeId node, int64_t rank,
                                      const CollectiveBuffers& buffers, const Groups& groups);

}  // namespace partita
