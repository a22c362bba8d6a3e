#pragma once
// Binds the instructions of one stage's schedule to kernels, buffers and groups of ranks.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/execute/comm_thread.h"
#include "runtime/execute/groups.h"
#include "runtime/execute/run_collective.h"
#include "runtime/execute/stage_buffers.h"
#include "runtime/execute/stage_spans.h"
#include "runtime/execute/subnormals.h"

namespace partita {

/// What is done for each instruction. It stays where it is, since its parts refer to one another.
struct BoundStage {
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<std::function<void()>> actions;          // by instruction, for the thread that runs them
  std::vector<std::optional<Subnormals>> subnormals;   // by instruction
  std::map<std::pair<int, NodeId>, int64_t> messages;  // of the communication thread: jobs, by bucket or node
  std::unique_ptr<CommThread> comm_thread;             // if any is asynchronous; last: its jobs use the others
};

/// Makes the actions of a stage, one instruction after the other. Groups of ranks are made on the way, so that all
/// ranks of the stage bind the same instructions in one order.
class StageBinder {
 public:
  struct Parts {
    const LocalGraph& local;
    const Schedule& schedule;
    const OpSet& ops;
    Device& device;
    int64_t rank = 0;  // of the stage's mesh
    const StageBuffers& buffers;
    const StageSpans& spans;
    Groups &groups, &asynchronous;  // asynchronous: those of the communication thread
  };

  /// What `parts` refers to outlives what is bound; `ops` this alone.
  StageBinder(const Parts& parts, BoundStage& bound);
  void bind_all();

 private:
  void bind(const Instruction& instruction);
  void bind_compute(const Instruction& instruction);
  void bind_accumulate(const Instruction& instruction);
  void bind_reorder(const Instruction& instruction);
  void bind_collective(const Instruction& instruction);
  void bind_bucket(const Instruction& instruction);
  void bind_start(std::pair<int, NodeId> message, std::function<void()> communicate);
  void bind_wait(std::pair<int, NodeId> message);
  CollectiveBuffers collective_buffers(const Instruction& instruction) const;
  void add_kernel(std::vector<std::unique_ptr<Kernel>> made, const Instruction& instruction);
  Attrs attrs_in(NodeId node, int64_t micro) const;

  const LocalGraph& local_;
  const Schedule& schedule_;
  const Rules rules_;
  Device& device_;
  const int64_t rank_;
  const StageBuffers& buffers_;
  const StageSpans& spans_;
  Groups &groups_, &asynchronous_;
  BoundStage& bound_;
};

}  // namespace partita
