#pragma once
// One rank of a run: its device and executor, bound to the program that all ranks share.

#include "checkpoint/states.h"
#include "comm/communicator.h"
#include "compile.h"
#include "data/loading/batch.h"
#include "execute/executor.h"

namespace partita {

struct RankOptions {
  int threads = 1;  // compute threads
  KernelSet kernels = KernelSet::fast;
};

class RankRun {
 public:
  /// `program` and `comm` outlive the object; `states` are copied.
  RankRun(const Program& program, const States& states, const RankOptions& options, Communicator& comm);

  Executor& executor() { return *executor_; }
  Communicator& comm() { return comm_; }

  /// Throws InvalidArgument for an array that is neither the whole of its input, nor this rank's rows or part of it.
  void feed(const Batch& batch);
  void feed_learning_rate(double rate);
  /// This rank's rows of every global batch; all of them where the batch is not cut, or not in the same way for every
  /// input.
  Batcher rows(const DatasetPtr& dataset, int64_t batch) const;
  /// Every state as a whole, on every rank; all ranks take part.
  States states() const;

 private:
  void feed(const std::string& name, ConstTensor rows);
  static void feed(StageExecutor& stage, const std::string& name, ConstTensor rows);

  const Program& program_;
  Communicator& comm_;
  std::unique_ptr<Device> device_;
  std::optional<Executor> executor_;
};

}  // namespace partita
