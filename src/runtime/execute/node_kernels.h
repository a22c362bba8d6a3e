#pragma once
// Runs single nodes at once, outside of any schedule: calls that a user makes one by one.

#include <sys/types.h>

#include <unordered_map>

#include "ir/graph/op_def.h"
#include "runtime/device/device.h"

namespace partita {

/// The kernels of nodes that run at once. A node of much work runs a kernel of the device, kept by its op, attributes
/// and types; others run the op's reference kernel, which needs no choice. So do all nodes in a forked process, to
/// which compute threads do not come along. Belongs to the thread that makes it.
class NodeKernels {
 public:
  /// `ops` outlives this object. `threads` are the compute threads of a node.
  NodeKernels(const OpSet& ops, int threads);
  ~NodeKernels();
  NodeKernels& operator=(NodeKernels&&) = delete;

  /// Runs node `node` of a graph; results are dense and row-major, as are operands. Throws KernelErrors, and
  /// InternalError if a library fails otherwise.
  void run(const Graph& graph, size_t node, Inputs inputs, Outputs outputs);

 private:
  struct Bound;  // a kernel with conversions of its operands and results

  Bound* bound(const Graph& graph, size_t node, Inputs inputs, Outputs outputs);
  void run_bound(Bound& bound, Inputs inputs, Outputs outputs);

  const OpSet& ops_;
  std::unique_ptr<Device> device_;
  pid_t process_;
  std::unordered_map<std::string, std::unique_ptr<Bound>> kept_;  // null: the reference kernel
  std::string key_;                                               // key of the current look-up; reused
  std::shared_ptr<void> room_;
  int64_t room_bytes_ = 0;
};

}  // namespace partita
