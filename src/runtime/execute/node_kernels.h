#pragma once
// Runs single nodes at once, outside of any schedule: calls that a user makes one by one.

#include <unordered_map>
#include <unordered_set>

#include "ir/graph/op_def.h"
#include "runtime/device/device.h"

namespace partita {

/// The kernels of nodes that run at once. A node of much work runs a kernel of the device, kept by its op, attributes
/// and types until many others were used since. Others run the op's reference kernel, which needs no choice. So equal
/// calls have equal bits. On a thread that forked this process all nodes run reference kernels if it had compute
/// threads, which did not come along. Belongs to the thread that makes it.
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
  std::unique_ptr<Bound> make_bound(const Node& node, Inputs inputs, Outputs outputs);
  void forget_half();
  void run_bound(Bound& bound, Inputs inputs, Outputs outputs);

  const OpSet& ops_;
  std::unique_ptr<Device> device_;
  std::unordered_map<std::string, std::unique_ptr<Bound>> kept_;
  std::unordered_set<std::string> refused_;  // keys of calls of the reference kernel
  uint64_t calls_ = 0;
  std::string key_;  // key of the current look-up; reused
  std::shared_ptr<void> room_;
  int64_t room_bytes_ = 0;
};

}  // namespace partita
