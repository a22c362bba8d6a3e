#pragma once
// One rank of a run: its device and executor, bound to the program that all ranks share.

#include "compiler/compile.h"
#include "frontend/data/loading/batch.h"
#include "ir/sharding/box_runs.h"
#include "runtime/checkpoint/safetensors_header.h"
#include "runtime/checkpoint/states.h"
#include "runtime/comm/communicator.h"
#include "runtime/execute/executor.h"

namespace partita {

struct RankOptions {
  int threads = 1;  // compute threads
  KernelSet kernels = KernelSet::fast;
};

/// Gives this rank's part of a state: the elements of a box of the whole value, dense, go to `to`.
using FillState = std::function<void(const std::string& name, const Box& box, DType dtype, void* to)>;

/// Calls `fill` for each state of this rank's stages.
void fill_states(Executor& executor, const FillState& fill);

/// What one rank holds of the states.
struct StateParts {
  States values;
  Metadata boxes{};  // "box:NAME": which elements of the whole value these are ("0:16,0:64 of 64,64")
};

class RankRun {
 public:
  /// `program` and `comm` outlive the object; `states` are copied.
  RankRun(const Program& program, const States& states, const RankOptions& options, Communicator& comm);
  /// `fill` is called for each state of this rank's stages, and for nothing else of it.
  RankRun(const Program& program, const FillState& fill, const RankOptions& options, Communicator& comm);
  /// Of a program that was compiled for the states of another one (CompileOptions::holder), on its device. `holder`
  /// runs that one on the same rank, outlives the object, and keeps the states.
  RankRun(const Program& program, const RankRun& holder);

  Executor& executor() { return *executor_; }
  Communicator& comm() const { return comm_; }

  /// Throws InvalidArgument for an array that is neither the whole of its input, nor this rank's rows or part of it.
  void feed(const Batch& batch);
  /// An input, as a whole or as this rank has it.
  void feed(const std::string& name, ConstTensor rows);
  void feed_learning_rate(double rate);
  /// This rank's rows of every global batch; all of them where the batch is not cut, or not in the same way for every
  /// input.
  Batcher rows(const DatasetPtr& dataset, int64_t batch) const;
  /// Whether a stage of this rank reads rows.
  bool reads_rows() const;
  /// Every state as a whole, on every rank; all ranks take part.
  States states() const;
  /// The same on rank 0 alone; the others send it what they own, and get nothing.
  States states_on_first() const;
  /// Without a word to others.
  StateParts own_parts() const;

 private:
  static void feed(StageExecutor& stage, const std::string& name, ConstTensor rows);

  const Program& program_;
  Communicator& comm_;
  std::shared_ptr<Device> device_;
  std::optional<Executor> executor_;
};

}  // namespace partita
