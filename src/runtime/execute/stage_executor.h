#pragma once
// Runs the sections of one stage's schedule on one rank with a device and a communicator. The schedule has made all
// decisions.

#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/device/device.h"
#include "runtime/execute/groups.h"
#include "runtime/execute/named_buffers.h"
#include "runtime/execute/stage_binder.h"
#include "runtime/execute/stage_buffers.h"
#include "runtime/execute/stage_spans.h"
#include "runtime/execute/stage_values.h"
#include "runtime/execute/state_reader.h"
#include "runtime/execute/subnormals.h"
#include "runtime/execute/xla/stage_programs.h"
#include "runtime/trace/recorder.h"

namespace partita {

/// The part of a state that one rank holds.
struct StatePart {
  Box box;  // in the whole value
  Array values;
  bool owned = false;  // whether this is the first of the ranks that hold this part: each part has one owner
};

class StageExecutor {
 public:
  /// Binds kernels to this rank's shapes, or compiles the programs of an accelerator; `cuts` says where these end. The
  /// arguments outlive the executor. `ranks` has the ranks of the stage; all of them construct their executors at the
  /// same time. `holder`, if given, has the states on a device of the same kind: external states are used in its
  /// memory, others are copied from it. Throws RuntimeFailure(out_of_memory) without memory or threads; RankFailures;
  /// InvalidArgument if the environment allows fewer threads than `device` has or `holder` lacks a state; InternalError
  /// unless the mesh has as many ranks as `ranks` and `holder` has the external states in the same memory formats.
  StageExecutor(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& device,
                Communicator& ranks, const StageExecutor* holder = nullptr, const ProgramCuts& cuts = {});

  const LocalGraph& local() const { return local_; }
  const Schedule& schedule() const { return schedule_; }
  const NamedBuffers& named() const { return buffers_.named(); }
  const std::vector<int64_t>& coordinates() const { return buffers_.coordinates(); }
  /// Type of this rank's part of what a buffer holds; of one micro-batch, if micro-batches split it.
  Type type_of(int buffer) const { return buffers_.type_of(buffer); }
  /// Returns the address of the copy of a buffer that belongs to a micro-batch: with n copies, copy `micro_batch`
  /// modulo n. `value_of` is for reading; it brings the value from an accelerator, waits for it, and throws the error
  /// of the program that computes it. `place_of` is for writing, after which `written` is called.
  const char* value_of(int buffer, int64_t micro_batch) const { return values_->on_host(buffer, micro_batch); }
  char* place_of(int buffer, int64_t micro_batch) const { return buffers_.copy_of(buffer, micro_batch); }
  void written(int buffer, int64_t micro_batch) const { values_->written(buffer, micro_batch); }

  /// Sets an input, for one micro-batch, to the elements of `given` inside `box`. The box has the shape of this rank's
  /// part and lies inside `given`. `micro_batch` is 0 for an input that micro-batches do not split. Throws
  /// RuntimeFailure(out_of_memory) if an accelerator has too little memory, InvalidArgument for an unknown input and
  /// unless the box has the input's local type, InternalError if it lies outside `given` or there is no such
  /// micro-batch.
  void set_input(std::string_view name, ConstTensor given, const Box& box, int64_t micro_batch);
  /// Whether inputs of the next step can be set while a step runs: on an accelerator that has memory for them.
  bool can_set_next_inputs() const { return values_->has_room_for_next(); }
  /// Sets an input of the next step, which `use_next_inputs` begins. Throws as `set_input` does,
  /// RuntimeFailure(out_of_memory) if there is too little memory for two inputs, and InternalError if the stage takes
  /// none.
  void set_next_input(std::string_view name, ConstTensor given, const Box& box);
  /// The values of the stage, and the programs that compute them on an accelerator.
  StageValues& values() { return *values_; }
  /// Sets a state from its whole value, of which this rank keeps its part. Throws InvalidArgument if there is no such
  /// state or `whole` has another type, RuntimeFailure(out_of_memory) if a conversion of memory formats lacks memory.
  void set_state(std::string_view name, const Array& whole);
  /// Returns the whole value of a state, on every rank. A collective call over the stage's ranks if the state is
  /// sharded, else without communication. Throws InvalidArgument if there is no such state; RankFailures;
  /// RuntimeFailure(out_of_memory) if a conversion of memory formats lacks memory.
  Array state(std::string_view name);
  /// Calls `fill` once to write this rank's part of a state. Its arguments are the part's box in the whole value, the
  /// element type, and the address of a dense array for the elements. Converts them to the state's memory format
  /// afterwards. Throws InvalidArgument if there is no such state, what `fill` throws, and
  /// RuntimeFailure(out_of_memory) if the conversion lacks memory.
  void fill_state(std::string_view name, const std::function<void(const Box& box, DType dtype, void* to)>& fill);
  /// A dense copy of this rank's part of a state, without communication. Throws InvalidArgument if there is no such
  /// state, RuntimeFailure(out_of_memory) if the conversion from its memory format lacks memory.
  StatePart state_part(std::string_view name) const;
  /// The box of this rank's part in the whole state. Throws InvalidArgument if there is no such state.
  Box state_box(std::string_view name) const;
  /// Brings the states from an accelerator to the memory that `state_reader` reads. Throws the error of a program that
  /// was to compute them.
  void bring_states() const;
  /// Returns a reader of this rank's part of a state. It refers to this executor's memory: call `bring_states` after
  /// each step whose states are to be read. Throws InvalidArgument if there is no such state.
  StateReader state_reader(std::string_view name) const;
  /// Releases all memory except that of the states, between two steps or after the last one.
  void keep_states_alone();
  /// Returns a copy of this rank's part of a buffer, of its copy for the current micro-batch if it has several. The
  /// buffer is in the plain format, as those of outputs are, and the last section that writes it has run.
  Array read(int buffer) const;

  /// Sets the measured seconds of all instructions to 0, and declares to the values that a step begins.
  void begin_step(bool must_be_finite);
  /// Selects the micro-batch that runs next; 0 for what runs once.
  void begin(int64_t micro_batch) { buffers_.begin(micro_batch); }
  /// Runs instructions [begin, end) in order, in the current micro-batch. Those marked `last` run only in the last
  /// micro-batch. Sets the subnormal mode of each on `threads`. Throws KernelErrors and RankFailures. An error of an
  /// asynchronous collective is thrown by an instruction that waits.
  void run(size_t begin, size_t end, DeviceSubnormals& threads);
  /// Starts recording each instruction as a span of `stage`, but for those inside programs of an accelerator, and each
  /// program; stops if `recorder` is null. `thread` is the trace's thread for asynchronous collectives, `device` that
  /// of the accelerator.
  void record(Recorder* recorder, int stage, int thread, int device) {
    spans_.record(recorder, stage, thread);
    values_->record(recorder, stage, device);
  }
  /// If spans are recorded, waits for the program that computes a buffer in a micro-batch, as a span of its own, so
  /// that this time is not a part of what reads the buffer next. Throws nothing if that program failed.
  void await_value(int buffer, int64_t micro_batch) const {
    if (spans_.recorder() != nullptr) values_->await({&buffer, 1}, micro_batch);
  }
  /// Whether all results of an instruction that has just run are finite, on this rank and in the current micro-batch.
  /// True for instructions other than the computations of the forward and the backward pass.
  bool makes_finite(size_t instruction) const;
  /// Switches measuring of instructions on or off, and sets the seconds of all to 0.
  void measure(bool on);
  /// Seconds of each instruction in the last step, summed over micro-batches and 0 while measuring is off; empty if
  /// `measure` was never called.
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  void run_measured(size_t instruction);
  int64_t bytes_in_use(int buffer) const;

  const LocalGraph& local_;
  const Schedule& schedule_;
  Device& device_;
  Communicator& ranks_;
  StageBuffers buffers_;
  Groups groups_, asynchronous_;  // asynchronous: for the communication thread
  StageSpans spans_;
  std::unique_ptr<StageValues> values_;
  BoundStage bound_;
  std::vector<double> seconds_;  // per instruction, when measuring
  bool measuring_ = false;
};

}  // namespace partita
