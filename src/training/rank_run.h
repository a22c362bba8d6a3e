#pragma once
// One rank of a run: its device and executor, for the program that all ranks share.

#include "compiler/compile.h"
#include "frontend/data/loading/batch.h"
#include "ir/sharding/box_runs.h"
#include "runtime/checkpoint/safetensors_header.h"
#include "runtime/checkpoint/states.h"
#include "runtime/comm/communicator.h"
#include "runtime/execute/executor.h"
#include "training/report/seen_devices.h"

namespace partita {

/// Writes this rank's part of a state: the elements of `box` of the whole value, dense, to `to`.
using FillState = std::function<void(const std::string& name, const Box& box, DType dtype, void* to)>;

/// Calls `fill` for this rank's part of each state of its stages. Throws what `fill` throws.
void fill_states(Executor& executor, const FillState& fill);

/// The parts of the states that one rank holds.
struct StateParts {
  States values;
  Metadata boxes{};  // "box:NAME": the elements of the whole value ("0:16,0:64 of 64,64")
};

class RankRun {
 public:
  /// `program` and `comm` outlive the object, which is for the thread that makes it. `states` has a value for every
  /// state of the program; they are copied. Collective over `comm`. Throws InvalidArgument for a state of another type
  /// and if OMP_THREAD_LIMIT is below the threads, RuntimeFailure(out_of_memory) without memory or threads, and
  /// RankFailures.
  RankRun(const Program& program, const States& states, const RankOptions& options, Communicator& comm);
  /// Sets the states by `fill`, which is called for the parts that this rank holds, and for no others. Throws what
  /// `fill` throws, and as the constructor with whole states does.
  RankRun(const Program& program, const FillState& fill, const RankOptions& options, Communicator& comm);
  /// Runs a program that was compiled for the states of another one (CompileOptions::holder), on the same device.
  /// `holder` runs that other program on the same rank. It holds the states and outlives the object. Collective. Throws
  /// RuntimeFailure(out_of_memory) without memory or threads, RankFailures, and InvalidArgument if `holder` lacks a
  /// state.
  RankRun(const Program& program, const RankRun& holder);

  Executor& executor() { return *executor_; }
  Communicator& comm() const { return comm_; }

  /// Sets the inputs that the program has among the batch's columns; skips other columns. Throws InvalidArgument for an
  /// array that is neither the whole input, nor this rank's rows of it, nor this rank's part.
  void feed(const Batch& batch);
  /// Sets the input `name` from the whole input, this rank's rows of it, or its part. Does nothing if no stage of this
  /// rank reads it. Throws InvalidArgument for an array that is none of these.
  void feed(const std::string& name, ConstTensor rows);
  /// Returns the devices of the accelerator that this process sees; none if the rank has no accelerator.
  std::optional<SeenDevices> devices();
  /// Feeds a batch of the next step while a step runs on an accelerator, if `Executor::can_set_next_inputs`. The step
  /// that it is for begins with `Executor::use_next_inputs`. Throws as `feed` does, and RuntimeFailure if the
  /// accelerator cannot take a second batch.
  void feed_next(const Batch& batch);
  /// Feeds the rate to the input "learning_rate". Throws InvalidArgument if it is not finite in the type of the input,
  /// or if there is no such input.
  void feed_learning_rate(double rate);
  /// Feeds the factor of the loss to the input kLossScale. Throws InvalidArgument if it is not finite in the type of
  /// the input, or if there is no such input.
  void feed_loss_scale(double scale);
  /// Returns batches of this rank's rows of every global batch of `batch` rows. If no input is split by rows, or if
  /// this rank's inputs are split in different ways, the batches have all rows and `feed` selects those that each input
  /// needs. Throws InvalidArgument for an empty dataset, a batch below 1 or larger than the dataset, and one that
  /// micro-batches do not divide.
  Batcher rows(const DatasetPtr& dataset, int64_t batch) const;
  /// Whether a stage of this rank reads rows.
  bool reads_rows() const;
  /// Returns every state as a whole, on every rank. Collective. Throws RankFailures, RuntimeFailure(out_of_memory)
  /// without memory.
  States states() const;
  /// Returns every state as a whole on rank 0, and no states on the other ranks, which send their parts. Collective.
  /// Throws as `states` does.
  States states_on_first() const;
  /// Returns this rank's parts of the states, without communication.
  StateParts own_parts() const;

 private:
  /// Begins without values of the states.
  RankRun(const Program& program, const RankOptions& options, Communicator& comm);

  /// Feeds a number to the scalar input `name`. Throws InvalidArgument, which begins with "[where]", if it is not
  /// finite in the type of the input, or if there is no such input.
  void feed_number(std::string_view where, const std::string& name, double number);
  enum class Step { present, next };
  void feed(const Batch& batch, Step step);
  void feed(const std::string& name, ConstTensor rows, Step step);
  static void feed(StageExecutor& stage, const std::string& name, ConstTensor rows, Step step);

  const Program& program_;
  Communicator& comm_;
  std::shared_ptr<Device> device_;
  std::optional<Executor> executor_;
};

}  // namespace partita
