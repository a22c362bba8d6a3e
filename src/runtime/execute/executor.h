#pragma once
// Runs a program on one rank: this rank's stages of the pipeline, or the only stage of a program without a pipeline.

#include "runtime/execute/transfers.h"

namespace partita {

/// The end of a step.
struct StepResult {
  double loss = 0;
  std::optional<std::string> bad{};  // names what is not finite, the same on every rank; none: the states are updated
};

class Executor {
 public:
  /// Binds kernels to this rank's shapes. The arguments outlive the executor. All ranks of `world` construct their
  /// executors at the same time. `holder`, if given, is the executor of a program with the same stages and already has
  /// the states: it keeps the external ones in its memory, others are copied. Throws RuntimeFailure(out_of_memory)
  /// without memory or threads; RankFailures; InvalidArgument if the environment allows fewer threads than `device` has
  /// or `holder` lacks a state; InternalError if `world` has another number of ranks than the pipeline, or `holder` has
  /// other stages.
  Executor(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const OpSet& ops, Device& device,
           Communicator& world, const Executor* holder = nullptr);
  /// Binds a program without a pipeline, as its only stage. Copies `local` and `schedule`; `device` and `world` outlive
  /// the executor. All ranks of `world` construct their executors at the same time. Throws
  /// RuntimeFailure(out_of_memory) without memory or threads; RankFailures; InvalidArgument if the environment allows
  /// fewer threads than `device` has; InternalError if `world` has another number of ranks than the mesh of `local`.
  Executor(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& device, Communicator& world);
  ~Executor();

  /// The executors of this rank's stages, lowest stage first.
  const std::vector<std::unique_ptr<StageExecutor>>& stages() const;

  /// Type of this rank's part of an input; of one micro-batch, if micro-batches split the input. Throws InvalidArgument
  /// if no stage of this rank has the input.
  Type input_type(std::string_view name) const;

  /// Copies `local`, this rank's part of an input, to each of its stages that reads it; for micro-batch 0 alone, if
  /// micro-batches split the input. The values stay until they are set again. Throws InvalidArgument if no stage of
  /// this rank has the input, and unless `local` has the input's local type.
  void set_input(std::string_view name, ConstTensor local);
  /// Sets an input, for one micro-batch, to the elements of `given` inside `box`, in each of this rank's stages that
  /// reads it. The box has the shape of this rank's part and lies inside `given`. `micro_batch` is 0 for an input that
  /// micro-batches do not split. Throws InvalidArgument if no stage of this rank has the input and unless the box has
  /// the input's local type, InternalError if it lies outside `given` or there is no such micro-batch.
  void set_input(std::string_view name, ConstTensor given, const Box& box, int64_t micro_batch = 0);
  /// Whether `StageExecutor::set_next_input` may be called while a step runs: this rank has one stage, which can keep
  /// inputs.
  bool can_set_next_inputs() const;
  /// Makes what `set_next_input` was given the inputs of the step that is run next. Returns false if that is nothing:
  /// a step that is repeated, since it was not finite, drops them for want of memory.
  bool use_next_inputs();
  /// Drops what `set_next_input` was given.
  void forget_next_inputs();
  /// Sets a state from its whole value. This rank keeps its part in each of its stages that has the state. Throws
  /// InvalidArgument if no stage of any rank has the state, or if one of this rank has it with another type than
  /// `whole`; RuntimeFailure(out_of_memory) if a conversion of memory formats lacks memory.
  void set_state(std::string_view name, const Array& whole);
  /// Returns the whole value of a state on every rank, that of the lowest stage that has it. A collective call over all
  /// ranks if the state is sharded or the pipeline has several rank groups. Throws InvalidArgument if no stage has the
  /// state; RankFailures; RuntimeFailure(out_of_memory) if a conversion of memory formats lacks memory.
  Array state(std::string_view name) const;
  /// Returns the whole value of a state on rank 0 of the world; nullopt on other ranks. Rank 0 receives each part from
  /// one rank that owns it. All ranks of the world call it. Throws InvalidArgument if no stage has the state;
  /// RankFailures; RuntimeFailure(out_of_memory) if a conversion of memory formats lacks memory.
  std::optional<Array> state_on_first(std::string_view name) const;
  /// A dense copy of this rank's part of a state, from its lowest stage that has it, without communication. Throws
  /// InvalidArgument if none of this rank's stages has the state, RuntimeFailure(out_of_memory) if the conversion from
  /// its memory format lacks memory.
  StatePart state_part(std::string_view name) const;

  /// Brings the states of all stages from an accelerator to the memory that their readers read
  /// (StageExecutor::state_reader). Throws the error of a program that was to compute them.
  void bring_states() const;
  /// Releases all memory except that of the states, between two steps or after the last one. Inputs and computed values
  /// are lost.
  void keep_states_alone();

  /// Whether `begin_step` may be called while one other step has not ended: an accelerator does all of a step, and has
  /// memory for the inputs of both.
  bool can_run_ahead() const;
  /// Number of steps that have begun and not ended.
  size_t steps_in_flight() const;
  /// Begins a step, which `end_step` ends: an accelerator may run it until then. Inputs may be set when this returns.
  /// Throws as `try_step` does, also the errors of steps that have not ended, and InternalError if two are in flight,
  /// or one without `can_run_ahead`. `meanwhile`: see `try_step`.
  void begin_step(const std::function<void()>& meanwhile = nullptr);
  /// Ends the oldest step that has begun, as `try_step` does. If it was not finite and another one has begun, that one
  /// does not count: nothing has been updated, and the inputs are those of the step that has ended.
  /// Throws InternalError if no step is in flight.
  StepResult end_step();
  /// Runs forward and backward, then the update if the loss (output "loss") and the gradients (output kFinite of
  /// compiler/autodiff/training_graph.h, if there is one) are finite. If they are not, nothing is updated: replays
  /// forward and backward to name the first bad node, and returns what is not finite, the same on every rank. Returns
  /// nothing after the update. A collective call over the world. Throws RankFailures and KernelErrors. Throws
  /// InvalidArgument if there is no output "loss". `meanwhile`, if given, is called at most once, when the accelerator
  /// has begun to compute; it throws nothing.
  std::optional<std::string> try_step(const std::function<void()>& meanwhile = nullptr);
  /// Does what `try_step` does. Throws as it does, and RuntimeFailure(non_finite) on every rank, before anything is
  /// updated, if the loss or the gradients are not finite.
  void step(const std::function<void()>& meanwhile = nullptr);
  /// Runs the whole graph once: the forward pass and, if the graph has them, the backward pass and the update, whether
  /// or not the values are finite. A collective call over the world. Throws RankFailures and KernelErrors.
  void run();

  /// A copy of this rank's part of an output, after step() or run(), from its lowest stage that has it. Scalars are
  /// available on all stages, other outputs on the stages that compute them. Throws InvalidArgument if none of this
  /// rank's stages has the output.
  Array output(std::string_view name) const;
  /// Bytes of the arenas of this rank's stages, summed.
  int64_t arena_bytes() const;
  /// Starts recording the spans of this rank's stages, sections and transfers in `recorder`, which outlives the
  /// executor. Makes room in it for the spans of `steps` steps, at most 2^20 per thread, which drops what it has
  /// recorded.
  void record(Recorder& recorder, int64_t steps);
  /// Switches the measurement of instructions on or off, and sets the seconds of all to 0.
  void measure(bool on);
  /// Returns the seconds of each instruction in the last step, summed over micro-batches, as pairs of "KERNEL NODE" and
  /// seconds, in instruction order, one of this rank's stages after another. KERNEL is the name of the kernel for a
  /// computation, "reorder" or "copy" for these instructions, and "communicate" for all others; NODE is "" for what
  /// belongs to no node. 0 while measuring is off; empty if `measure` was never called.
  std::vector<std::pair<std::string, double>> measured() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita
