#pragma once
// Binds one collective node to its buffers and its communicator.

#include <functional>

#include "runtime/execute/groups.h"

namespace partita {

struct CollectiveBuffers {
  char* const* input;  // where the operand's address is read when the collective runs
  char* const* output;
  int64_t bytes;  // bytes of the operand in its memory format; only all_reduce takes a format that is not dense
  void* scratch;
  int64_t scratch_bytes;  // a reduce_scatter that is sent in another type and has none rounds the operand in place
};

/// Returns a function that runs the node in the micro-batch that `micro_batch` has at the time of the call; it throws
/// RankFailures. `rank` is this rank in the mesh. `groups` has the communicator over the node's axes. The addresses in
/// `buffers`, `local`, `groups` and `micro_batch` outlive the function. Throws InternalError if the scratch is too
/// small, std::out_of_range if `groups` lacks the communicator.
std::function<void()> bind_collective(const LocalGraph& local, NodeId node, int64_t rank,
                                      const CollectiveBuffers& buffers, const Groups& groups,
                                      const int64_t& micro_batch);

}  // namespace partita
