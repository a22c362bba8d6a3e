#pragma once
// The programs of one stage on an accelerator: what runs between the instructions that the host performs.

#include <exception>
#include <map>

#include "compiler/emit/held_bytes.h"
#include "runtime/execute/xla/device_inputs.h"
#include "runtime/execute/xla/device_values.h"
#include "runtime/execute/xla/gang.h"
#include "runtime/execute/xla/id_checker.h"
#include "runtime/execute/xla/runs_in_flight.h"

namespace partita {

/// Where programs of a stage end, and whose they are.
struct ProgramCuts {
  std::vector<size_t> borders = {};  // argument of Segmenter::segments
  std::string owner = "";            // end of messages: " on stage 1 on rank 2"
};

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
    CollectiveMode collectives = CollectiveMode::cut;
    Communicator* ranks = nullptr;  // those of the stage; needed if there are several
  };

  /// Compiles the segments. In whole mode this and `run` are collective calls over the ranks of the stage. All that
  /// `parts` refers to outlives this object. `holder`, if given, has the external states. Throws
  /// RuntimeFailure(out_of_memory) if the device lacks memory, or if a step needs more than it has and the plugin knows
  /// both. Throws InvalidArgument for an op that cannot be written, and in whole mode for ranks that cannot run one
  /// program. Throws InternalError if the plugin refuses a program.
  StagePrograms(const Parts& parts, const ProgramCuts& cuts, StagePrograms* holder);

  DeviceValues& values() { return values_; }
  DeviceInputs& inputs() { return inputs_; }
  /// Whether inputs of a next step can wait on the device: there are no micro-batches, and there is memory for them and
  /// a tenth of all more, as far as the plugin says.
  bool has_room_for_next() const { return has_room_for_next_; }
  /// Whether an instruction is a part of a program.
  bool contains(const Instruction& instruction) const { return segmenter_.in_program(instruction); }
  /// Whether instruction `i` begins a segment.
  bool begins(size_t i) const { return by_instruction_[i] >= 0; }
  /// Whether `run` starts a program for instruction `i`, and the last instruction of it.
  bool starts_at(size_t i) const { return singly_ || begins(i); }
  size_t last_of(size_t i) const {
    return singly_ ? i : segments_[static_cast<size_t>(by_instruction_[i])].segment.end - 1;
  }
  /// Declares that instruction `i` has run: values that nobody reads after it are released.
  void ran(size_t i);
  /// Starts the segment that begins at instruction `i`, in the current micro-batch. While one instruction at a time is
  /// to run, `i` may be any instruction of a segment, and only this one runs. Throws what the plugin notices at once,
  /// and errors of earlier runs. After these, and whatever else stops a start, nothing is in flight; if an update was,
  /// the states are lost. Throws InvalidArgument, before the segment starts, for an id or a label out of range that
  /// the host has.
  void run(size_t i);
  /// Whether each instruction runs by itself, so that all results can be looked at.
  void run_singly(bool singly);
  /// Reads what programs that ran since the last call found about ids and labels: waits for those that check some, and
  /// is then a collective call over the stage's ranks. Throws the kernel's InvalidArgument, on all of them, for an id
  /// out of range. Throws as `finish` does, and LostRanks.
  void require_ids();
  /// Waits for all runs, and calls `require_ids`. Throws the error of the first run that failed: what it computes is
  /// lost then.
  void finish();
  /// Starts recording each run as a span of `stage` on the trace's thread `thread`; stops if `recorder` is null.
  void record(Recorder* recorder, int stage, int thread) { in_flight_.record(recorder, stage, thread); }
  /// Waits for programs as `DeviceValues::await` does, and records when they have ended.
  void await(std::span<const int> buffers, int64_t micro_batch) {
    in_flight_.have_computed(values_.await(buffers, micro_batch, in_flight_.recorder()), micro_batch);
  }
  /// Calls `call` once, when the next program has been started, unless another call replaces it before.
  void call_after_start(std::function<void()> call) { after_start_ = std::move(call); }
  /// Forgets all values but states, and the inputs of a next step.
  void keep_states_alone();
  /// Forgets ids of a step that failed.
  void begin_step() { ids_.forget(); }

 private:
  struct Loaded {
    Segment segment;
    std::vector<std::shared_ptr<const pjrt::Executable>> programs;  // one, or one per micro-batch
    bool writes_states = false;
    std::vector<int> replaced;  // outputs that are no inputs
  };
  /// Bytes on the device while a program runs.
  struct ProgramMemory {
    HeldBytes held;
    std::optional<int64_t> temporaries = 0;  // none: the plugin does not say
    int64_t bytes() const { return held.all() + temporaries.value_or(0); }
  };
  void release_pending();
  Loaded load(Segment segment) const;
  void launch(const Loaded& loaded);
  void require_room();
  std::vector<ProgramMemory> memory_of_segments() const;
  void enqueue(const Loaded& loaded);
  pjrt::Results start(const Loaded& loaded, std::vector<const pjrt::Buffer*> arguments);
  Span span_of(const Loaded& loaded) const;
  void require_success();
  [[noreturn]] void fail(const std::exception_ptr& error);
  std::string description_of(const Loaded& loaded, const Error& error) const;

  const Parts parts_;
  const std::string owner_;
  const Segmenter segmenter_;
  std::optional<Gang> gang_;  // in whole mode on several ranks
  DeviceValues values_;
  DeviceInputs inputs_;
  IdChecker ids_;
  std::vector<Loaded> segments_;
  std::vector<int> by_instruction_;  // the segment that begins there, or -1
  std::map<size_t, Loaded> single_;  // by instruction, made when needed
  std::vector<pjrt::Buffer> flags_;  // false and true, on the device
  RunsInFlight in_flight_;
  std::function<void()> after_start_;
  bool updates_ = false;  // whether a program that writes states runs, or has run in this step
  bool singly_ = false;
  bool has_room_for_next_ = true;
  std::optional<std::pair<size_t, int64_t>> pending_;  // the last one that ran singly, and its micro-batch
  int64_t started_ = 0;                                // time of the last start; 0 if another rank made the call
};

}  // namespace partita
