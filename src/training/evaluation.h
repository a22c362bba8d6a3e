#pragma once
// A network in evaluation on every row of a data set.

#include <functional>

#include "training/metrics.h"
#include "training/rank_run.h"
#include "training/row_passes.h"

namespace partita {

struct EvaluationOptions {
  int ranks = 1;                           // that run a batch
  int64_t most_rows = 256;                 // of a batch
  int64_t top = 5;                         // of Metrics::correct_in_top
  std::optional<int64_t> ignored_label{};  // rows of this class count for nothing; none: what the loss leaves out
};

/// Called on the first rank: how many rows are done, of how many.
using EvaluationProgress = std::function<void(int64_t done, int64_t rows)>;

/// Compiled once; run as often as there are new states. The scalars are those of all rows in one batch, whatever the
/// batches and ranks. The rows that do not fill a batch have a program of their own, on the same ranks.
class Evaluation {
 public:
  /// How an evaluation makes what it runs.
  struct Maker {
    BuildForRows build;                                                   // the network with its loss
    std::function<Program(const Graph& of_batch, int64_t rows)> compile;  // the graph of a batch of so many rows
  };

  /// Rows are counted as right or wrong when the network has an output "logits" and the rows a column "label". Throws
  /// InvalidArgument for an empty data set, and for a network that needs all rows at once where they are more than a
  /// batch.
  Evaluation(DatasetPtr dataset, const EvaluationOptions& options, const Maker& make);

  /// The same result on every rank of `comm`, which has as many ranks as the options say; all take part.
  Metrics run(const States& states, const RankOptions& options, Communicator& comm,
              const EvaluationProgress& progress = nullptr) const;
  /// Of programs that were compiled for the states of a training, where this rank of it has them. Until its next step
  /// the training keeps no other memory.
  Metrics run(RankRun& training, const EvaluationProgress& progress = nullptr) const;
  int ranks() const { return options_.ranks; }
  /// A graph with the states that a run needs.
  const Graph& graph() const { return program().graph; }
  /// Of the batches of the first pass; the others are like it.
  const Program& program() const { return passes_.front().front().program; }
  /// Rows of a batch.
  int64_t batch() const { return passes_.front().front().batch; }
  /// All programs; one runs after another.
  std::vector<const Program*> programs() const;

 private:
  struct Part {
    DatasetPtr rows;
    int64_t batch;
    Program program;
  };
  class Counter;
  class Joiner;
  using MakeRank = std::function<std::unique_ptr<RankRun>(const Program&)>;
  /// Values of all rows by their names.
  using Values = std::map<std::string, Array>;

  Metrics run(const MakeRank& make, Communicator& comm, const EvaluationProgress& progress) const;
  void run_pass(size_t pass, const MakeRank& make, Communicator& comm, Counter& counter, Values& values) const;
  void run_part(const Part& part, RankRun& rank, bool makes_logits, Counter& counter, Joiner& joiner) const;

  EvaluationOptions options_;
  bool classifies_ = false;
  int64_t rows_ = 0;
  std::optional<RowPasses> row_passes_;
  std::vector<std::vector<Part>> passes_;
};

}  // namespace partita
