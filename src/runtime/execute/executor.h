#pragma once
// Runs a program on one rank: this rank's stages of the pipeline, or the only stage of a program without a pipeline.

#include "runtime/execute/transfers.h"

namespace partita {

class Executor {
 public:
  /// Binds kernels to this rank's shapes. The arguments outlive the executor. All ranks of `world` construct their
  /// executors at the same time. `holder`, if given, is the executor of a program with the same stages and already has
  /// the states (see StageExecutor). Throws InternalError unless `world` has as many ranks as the pipeline, and if
  /// `holder` has other stages; what the device throws without memory or threads; and RuntimeFailure as
  /// Communicator::split does.
  Executor(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const OpSet& ops, Device& device,
           Communicator& world, const Executor* holder = nullptr);
  /// Binds a program without a pipeline, as its only stage. Requirements and errors are those of the other constructor.
  Executor(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& device, Communicator& world);
  ~Executor();

  /// The executors of this rank's stages, lowest stage first.
  const std::vector<std::unique_ptr<StageExecutor>>& stages() const;

  /// Type of this rank's part of an input; of one micro-batch, if micro-batches split the input. Throws InvalidArgument
  /// if no stage of this rank has the input.
  Type input_type(std::string_view name) const;

  /// Copies this rank's part of an input to each of its stages that reads it. The values stay until they are set again.
  /// Throws InvalidArgument for an unknown input, and unless `local` has the input's local type.
  void set_input(std::string_view name, ConstTensor local);
  /// Sets an input to the elements of `given` inside `box`. The box has the shape of this rank's part and lies inside
  /// `given`. An input that micro-batches split is set for each of them. Throws InvalidArgument for an unknown input
  /// and unless the box has the input's local type, InternalError if it lies outside `given` or there is no such
  /// micro-batch.
  void set_input(std::string_view name, ConstTensor given, const Box& box, int64_t micro_batch = 0);
  /// Sets a state from its whole value. This rank keeps its part in each of its stages that has the state. Throws
  /// InvalidArgument if no stage has the state, or if `whole` has another type.
  void set_state(std::string_view name, const Array& whole);
  /// Returns the whole value of a state. A collective call over all ranks if the state is sharded or the pipeline has
  /// several rank groups. Each rank receives each part once. Throws InvalidArgument if no stage has the state,
  /// RuntimeFailure as Communicator does.
  Array state(std::string_view name) const;
  /// Returns the whole value of a state on rank 0 of the world; nullopt on other ranks. Rank 0 receives each part from
  /// one rank that owns it. A collective call over the world. Throws InvalidArgument if no stage has the state,
  /// RuntimeFailure as Communicator does.
  std::optional<Array> state_on_first(std::string_view name) const;
  /// This rank's part of a state, without communication. Throws InvalidArgument if none of this rank's stages has the
  /// state.
  StatePart state_part(std::string_view name) const;

  /// Releases all memory except that of the states, between two steps or after the last one. Inputs and computed values
  /// are lost.
  void keep_states_alone();

  /// Runs forward and backward, then the update if the loss (output "loss") is finite. If it is not, replays the
  /// forward to name the first bad node and throws RuntimeFailure(non_finite) on every rank, before anything is
  /// updated. A collective call over the world. Throws RuntimeFailure as Communicator does, and what kernels throw:
  /// InvalidArgument for a label, an id or a slot that is out of range.
  void step();
  /// Runs the whole graph once: the forward and, if the graph has them, the backward and the update, whether or not the
  /// values are finite. A collective call over the world. Throws RuntimeFailure as Communicator does, and what kernels
  /// throw: InvalidArgument for a label, an id or a slot that is out of range.
  void run();

  /// This rank's part of an output, after step() or run(). Scalars are available on all stages, other outputs on the
  /// stages that compute them. Throws InvalidArgument if none of this rank's stages has the output.
  Array output(std::string_view name) const;
  /// Bytes of the arenas of this rank's stages, summed.
  int64_t arena_bytes() const;
  /// Starts recording. The recorder gets room for the spans of `steps` steps, at most 2^20 per thread. `recorder`
  /// outlives the executor.
  void record(Recorder& recorder, int64_t steps);
  /// Switches the measurement of instructions on or off, and clears what was measured.
  void measure(bool on);
  /// Seconds per instruction in the last step, as pairs of "KERNEL NODE" and seconds, stage after stage. Empty unless
  /// measuring was switched on before.
  std::vector<std::pair<std::string, double>> measured() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita
