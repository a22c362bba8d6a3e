#pragma once
// The programs of one stage on an accelerator: what runs between the instructions that the host performs.

#include <exception>
#include <map>

#include "runtime/execute/stage_values.h"
#include "runtime/execute/xla/device_inputs.h"
#include "runtime/execute/xla/device_values.h"
#include "runtime/execute/xla/gang.h"
#include "runtime/execute/xla/id_checker.h"
#include "runtime/execute/xla/loaded_segment.h"
#include "runtime/execute/xla/runs_in_flight.h"
#include "runtime/execute/xla/steps_in_flight.h"

namespace partita {

/// Where programs of a stage end, and whose they are.
struct ProgramCuts {
  std::vector<size_t> borders = {};    // argument of Segmenter::segments
  std::string owner = "";              // end of messages: " on stage 1 on rank 2"
  Guarding guarding = Guarding::none;  // argument of Segmenter
};

/// Runs segments of a stage. For the thread that runs the schedule.
class StagePrograms : public StageValues {
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
  StagePrograms(const Parts& parts, const ProgramCuts& cuts, DeviceValues* holder);

  char* on_host(int buffer, int64_t micro_batch) override { return values_.on_host(buffer, micro_batch); }
  void written(int buffer, int64_t micro_batch) override { values_.written(buffer, micro_batch); }
  void await(std::span<const int> buffers, int64_t micro_batch) override {
    in_flight_.have_computed(values_.await(buffers, micro_batch, in_flight_.recorder()), micro_batch);
  }
  DeviceValues* on_device() override { return &values_; }
  void keep_states_alone() override;
  bool takes_input(int buffer, ConstTensor given, const Box& box) override { return inputs_.set(buffer, given, box); }
  bool has_room_for_next() const override { return has_room_for_next_; }
  void set_next_input(int buffer, ConstTensor given, const Box& box) override { inputs_.set_next(buffer, given, box); }
  bool use_next_inputs() override { return inputs_.use_next(); }
  void forget_next_inputs() override { inputs_.forget_next(); }
  std::function<void()> program_action(size_t i) override;
  std::function<void()> host_action(std::vector<int> read, std::vector<int> written,
                                    std::function<void()> action) override;
  bool has_span(size_t i, Span& span) const override;
  void ran(size_t i) override;
  void run_singly(bool singly) override;
  void require_ids() override;
  void finish() override;
  void begin_step(bool must_be_finite) override;
  bool guards_update() const override { return segmenter_.guard().has_value(); }
  bool can_run_ahead() const override { return can_run_ahead_; }
  void started_step() override;
  size_t steps_in_flight() const override { return steps_.count(); }
  StepNumbers await_step() override;
  void record(Recorder* recorder, int stage, int thread) override { in_flight_.record(recorder, stage, thread); }
  void call_after_start(std::function<void()> call) override { after_start_ = std::move(call); }

 private:
  /// Whether an instruction is a part of a program.
  bool contains(size_t i) const { return segmenter_.in_program(parts_.schedule.instructions[i]); }
  /// Whether `run` starts a program for instruction `i`: it begins a segment, or all run singly.
  bool starts_at(size_t i) const { return singly_ || by_instruction_[i] >= 0; }
  /// Starts the segment that begins at instruction `i`, in the current micro-batch. While one instruction at a time is
  /// to run, `i` may be any instruction of a segment, and only this one runs. Throws what the plugin notices at once,
  /// and errors of earlier runs. After these, and whatever else stops a start, nothing is in flight; if an update was,
  /// the states are lost. Throws InvalidArgument, before the segment starts, for an id or a label out of range that
  /// the host has.
  void run(size_t i);
  void release_pending();
  void forget_steps();
  LoadedSegment load(Segment segment) const;
  void launch(const LoadedSegment& loaded);
  void find_room();
  void enqueue(const LoadedSegment& loaded);
  pjrt::Results start(const LoadedSegment& loaded, std::vector<const pjrt::Buffer*> arguments);
  Span span_of(const LoadedSegment& loaded) const;
  void require_success();
  [[noreturn]] void fail_with_first(const std::exception_ptr& error, bool updates_are_good);
  [[noreturn]] void fail(const std::exception_ptr& error);

  const Parts parts_;
  const std::string owner_;
  const Segmenter segmenter_;
  std::optional<Gang> gang_;  // in whole mode on several ranks
  DeviceValues values_;
  DeviceInputs inputs_;
  IdChecker ids_;
  std::vector<LoadedSegment> segments_;
  std::vector<int> by_instruction_;         // the segment that begins there, or -1
  std::map<size_t, LoadedSegment> single_;  // by instruction, made when needed
  std::vector<pjrt::Buffer> flags_;         // false and true, on the device
  RunsInFlight in_flight_;
  std::function<void()> after_start_;
  bool updates_ = false, starts_update_ = false;  // an update runs or has run; the last start was one
  bool singly_ = false, has_room_for_next_ = true, can_run_ahead_ = false;
  bool must_be_finite_ = false;                        // whether the update of the step that begins needs a finite loss
  std::optional<pjrt::Buffer> good_;                   // UpdateGuard of the last program; none: nothing has been wrong
  StepsInFlight steps_;                                // steps that were started and not awaited
  std::optional<std::pair<size_t, int64_t>> pending_;  // the last one that ran singly, and its micro-batch
  int64_t started_ = 0;                                // time of the last start; 0 if another rank made the call
};

}  // namespace partita
