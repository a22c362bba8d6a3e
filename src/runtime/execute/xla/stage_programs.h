#pragma once
// The programs of one stage on an accelerator: what runs between the instructions that the host performs.

#include <deque>
#include <map>

#include "compiler/emit/segments.h"
#include "runtime/execute/xla/device_values.h"

namespace partita {

/// Runs segments of a stage. For the thread that runs the schedule.
class StagePrograms {
 public:
  struct Parts {
    const LocalGraph& local;
    const Schedule& schedule;
    const OpSet& ops;
    int64_t rank = 0;  // in the stage's mesh
    const StageBuffers& buffers;
    const Accelerator& accelerator;
  };

  /// Compiles the segments. All that `parts` refers to outlives this object. `borders` are those of `segments_of`.
  /// `holder`, if given, has the external states. Throws RuntimeFailure(out_of_memory) if the device lacks memory,
  /// InvalidArgument for an op that cannot be written, InternalError if the plugin refuses a program.
  StagePrograms(const Parts& parts, const std::vector<size_t>& borders, StagePrograms* holder);

  DeviceValues& values() { return values_; }
  /// Whether instruction `i` begins a segment.
  bool begins(size_t i) const { return by_instruction_[i] >= 0; }
  /// Starts the segment that begins at instruction `i`, in the current micro-batch. While one instruction at a time is
  /// to run, `i` may be any instruction of a segment, and only this one runs. Throws what the plugin notices at once,
  /// and errors of earlier runs.
  void run(size_t i);
  /// Whether each instruction runs by itself, so that all results can be looked at.
  void run_singly(bool singly) { singly_ = singly; }
  bool runs_singly() const { return singly_; }
  /// Waits for all runs. Throws the error of the first that failed: what it computes is lost then.
  void finish();

 private:
  struct Loaded {
    Segment segment;
    std::vector<std::shared_ptr<const pjrt::Executable>> programs;  // one, or one per micro-batch
  };
  Loaded load(Segment segment) const;
  void launch(const Loaded& loaded);

  const Parts parts_;
  DeviceValues values_;
  std::vector<Loaded> segments_;
  std::vector<int> by_instruction_;         // the segment that begins there, or -1
  std::map<size_t, Loaded> single_;         // by instruction, made when needed
  std::vector<pjrt::Buffer> flags_;         // false and true, on the device
  std::deque<pjrt::Completion> in_flight_;  // runs that nobody has waited for, oldest first
  bool singly_ = false;
};

}  // namespace partita
