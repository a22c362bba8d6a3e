#pragma once
// Runs a program on one rank: its stages of the pipeline, or the one of a program without stages.

#include "runtime/execute/transfers.h"

namespace partita {

class Executor {
 public:
  /// Binds kernels to this rank's shapes; the arguments outlive the executor. All ranks of `world` make one at the same
  /// time. `holder`: of a program with the same stages that has the states, see StageExecutor. Throws InternalError
  /// unless `world` has the pipeline's number of ranks.
  Executor(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const OpSet& ops, Device& device,
           Communicator& world, const Executor* holder = nullptr);
  /// Of a program without stages.
  Executor(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& device, Communicator& world);
  ~Executor();

  /// This rank's stages, lowest first.
  const std::vector<std::unique_ptr<StageExecutor>>& stages() const;

  /// This rank's part of the type of an input (of a micro-batch, where these cut it).
  Type input_type(std::string_view name) const;

  /// Copies this rank's part of an input to each of its stages that reads it; it stays until it is set again. Throws
  /// InvalidArgument unless it has the input's local type.
  void set_input(std::string_view name, ConstTensor local);
  /// The elements of `given` in a box, which has the shape of this rank's part and lies inside of `given`. An input
  /// that micro-batches cut is set for each of them.
  void set_input(std::string_view name, ConstTensor given, const Box& box, int64_t micro_batch = 0);
  /// From the whole value, of which this rank keeps its part where one of its stages has the state.
  void set_state(std::string_view name, const Array& whole);
  /// The whole value; collective over the ranks when the state is cut or there are stages. Each rank gets each part
  /// once.
  Array state(std::string_view name) const;
  /// The same on rank 0 of the world alone, part by part, from one rank for each; collective over the world. Other
  /// ranks get no array.
  std::optional<Array> state_on_first(std::string_view name) const;
  /// This rank's part, without a word to others; of a state of its stages.
  StatePart state_part(std::string_view name) const;

  /// Gives back all memory but that of the states, between two steps or after the last one. What was set or computed is
  /// gone.
  void keep_states_alone();

  /// Forward and backward; then, unless the loss (output "loss") is not finite, the update. Throws
  /// RuntimeFailure(non_finite) on every rank before anything is updated, after replaying the forward
  /// to name the first bad node.
  void step();
  /// Forward only graphs: runs everything, checks nothing.
  void run();

  /// This rank's part of an output, after step() or run(). Scalars are there on all stages, others where they are made.
  Array output(std::string_view name) const;
  int64_t arena_bytes() const;
  /// From now on steps are recorded; `steps` of them as spans, for which the recorder makes room. Outlives the
  /// executor.
  void record(Recorder& recorder, int64_t steps);
  /// Seconds per node of the last step, when measuring was switched on before it.
  void measure(bool on);
  std::vector<std::pair<std::string, double>> measured() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita
