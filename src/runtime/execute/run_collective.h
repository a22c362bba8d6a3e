#pragma once
// Binds one collective node to its buffers and its group.

#include <functional>

#include "runtime/execute/groups.h"

namespace partita {

struct CollectiveBuffers {
  char* const* input;  // where the address is looked up when the collective runs
  char* const* output;
  int64_t bytes;  // of the operand as it lies; all but all_reduce need it dense
  void* scratch;
  int64_t scratch_bytes;
};

/// A function that runs the node in the micro-batch that `micro_batch` says when it is called. `rank` is this rank of
/// the mesh; the buffers, `local`, `groups` and `micro_batch` outlive it.
std::function<void()> bind_collective(const LocalGraph& local, NodeId node, int64_t rank,
                                      const CollectiveBuffers& buffers, const Groups& groups,
                                      const int64_t& micro_batch);

}  // namespace partita
