#pragma once
// Ids and labels of a stage's programs: those out of range have the errors of kernels.

#include <functional>

#include "compiler/emit/segments.h"
#include "runtime/comm/communicator.h"
#include "runtime/execute/xla/device_values.h"

namespace partita {

/// Checks ids on the host, and reads what programs found about others. For the thread that runs the schedule.
class IdChecker {
 public:
  struct Parts {
    const LocalGraph& local;
    const Schedule& schedule;
    const OpSet& ops;
    const Segmenter& segmenter;
    const StageBuffers& buffers;
    int64_t rank = 0;               // in the stage's mesh
    Communicator* ranks = nullptr;  // those of the stage; needed if there are several
    std::string owner;              // end of messages: " on rank 2"
  };

  /// All that `parts` refers to outlives this object.
  explicit IdChecker(const Parts& parts) : parts_(parts) {}

  /// Checks ids of a segment that the host has, in the current micro-batch. Throws InvalidArgument for one out of
  /// range.
  void require_on_host(const Segment& segment, DeviceValues& values) const;
  /// Keeps the flags of a run of the segment in the current micro-batch.
  void add(const Segment& segment, pjrt::Buffer flags);
  /// Declares that another step begins.
  void begin_step() { ++step_; }
  /// Drops what `add` was given.
  void forget() { found_.clear(); }
  /// Waits for the runs whose flags were added since the last call, `steps_ago` steps or more ago. Throws on all ranks
  /// the InvalidArgument of the first id out of range: the first run, in it the first node, and of several ranks the
  /// lowest. A collective call over the stage's ranks if flags were added. Throws the error of a run that failed, on
  /// its rank alone; LostRanks.
  void require(int64_t steps_ago = 0);

 private:
  struct Found {
    int64_t step = 0;
    std::vector<size_t> checks;  // instructions
    int64_t micro_batch = 0;
    pjrt::Buffer flags;
  };
  void call_check(size_t instruction, int64_t micro_batch,
                  const std::function<void(const IdOperand&, const OpCall&)>& check) const;
  int64_t elements_of(size_t instruction) const;

  const Parts parts_;
  std::vector<Found> found_;  // in the order of the runs
  int64_t step_ = 0;
};

}  // namespace partita
