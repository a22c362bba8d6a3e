#pragma once
// Binds the instructions of one stage's schedule to kernels, buffers and communicators.

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
#include "runtime/execute/stage_values.h"
#include "runtime/execute/subnormals.h"

namespace partita {

/// The actions of a stage's instructions. Not movable: its members refer to one another.
struct BoundStage {
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<std::function<void()>> actions;         // by instruction, run on the thread that executes the schedule
  std::vector<std::optional<Subnormals>> subnormals;  // by instruction
  /// Buffers that the host reads, by instruction.
  std::vector<std::vector<int>> reads;
  std::map<std::pair<int, NodeId>, int64_t> messages;  // number of the communication thread's job, by bucket or node
  /// Null if no collective is asynchronous. Last: its jobs use the other members.
  std::unique_ptr<CommThread> comm_thread;
};

/// Makes the actions of a stage in instruction order. Creates communicators on the way, so all ranks of the stage bind
/// the same instructions in the same order.
class StageBinder {
 public:
  struct Parts {
    const LocalGraph& local;
    const Schedule& schedule;
    const OpSet& ops;
    Device& device;
    int64_t rank = 0;  // in the stage's mesh
    const StageBuffers& buffers;
    const StageSpans& spans;
    Groups &groups, &asynchronous;  // asynchronous: for the communication thread
    StageValues& values;            // runs what is a part of a program
  };

  /// All that `parts` refers to outlives `bound`, except `ops`, which outlives only the binder.
  StageBinder(const Parts& parts, BoundStage& bound);
  /// Binds every instruction: adds its action and subnormal mode, and starts the communication thread for the first
  /// asynchronous collective. A collective call over the ranks of the stage. Throws RuntimeFailure(out_of_memory)
  /// without memory or threads; RankFailures; InternalError if the device lacks a kernel.
  void bind_all();

 private:
  void bind(const Instruction& instruction);
  void add(std::vector<int> read, std::vector<int> written, std::function<void()> action);
  void add_on_host(const Instruction& instruction, std::function<void()> action);
  std::vector<int> members_of(const Instruction& instruction) const;
  void bind_compute(const Instruction& instruction);
  void bind_accumulate(const Instruction& instruction);
  void bind_reorder(const Instruction& instruction);
  void bind_collective(const Instruction& instruction);
  void bind_bucket(const Instruction& instruction);
  void bind_start(const Instruction& instruction, std::pair<int, NodeId> message, std::function<void()> communicate);
  void bind_wait(const Instruction& instruction, std::pair<int, NodeId> message);
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
  StageValues& values_;
  BoundStage& bound_;
};

}  // namespace partita
