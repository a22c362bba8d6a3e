#pragma once
// Evaluation of a network on every row of a data set.

#include <functional>

#include "compiler/evaluation/row_passes.h"
#include "training/rank_run.h"
#include "training/report/row_metrics.h"

namespace partita {

struct EvaluationOptions {
  int ranks = 1;                           // ranks that run a batch
  int64_t max_rows = 256;                  // maximum rows of a batch
  int64_t top = 5;                         // k of Metrics::correct_in_top
  MetricOptions metrics{};                 // metrics besides the loss and the accuracy
  std::optional<int64_t> ignored_label{};  // class whose rows do not count; none: the one that the loss ignores
};

/// An evaluation that is compiled once and can be run with any states. The scalars are those of all rows in one batch,
/// for any number of batches and ranks. Rows that do not fill a batch are run by a program of their own, on the same
/// ranks.
class Evaluation {
 public:
  /// Functions that build and compile the graphs of an evaluation.
  struct Maker {
    BuildForRows build;                                                   // builds the network with its loss
    std::function<Program(const Graph& of_batch, int64_t rows)> compile;  // compiles the graph of a batch
  };

  /// Compiles the programs of all passes, for batches of at most `max_rows` rows. All rows are one batch if the network
  /// needs them at once and they are no more than that. Correct rows are counted if the network has an output "logits"
  /// and the rows a column "label". Throws what `make` throws, and InvalidArgument for an empty data set, for metrics
  /// that need these two without them, for a network that needs more than `max_rows` rows at once, and for one that
  /// depends on the number of rows.
  Evaluation(DatasetPtr dataset, const EvaluationOptions& options, const Maker& make);

  /// Evaluates all rows with `states`, which have those of graph(). Collective over `comm`, which has as many ranks as
  /// the options say. Every rank gets the same result, whether or not it is finite. `progress`: called on each rank
  /// that passes it. Throws InvalidArgument if a state has another type, labels do not fit the logits, a label or an id
  /// is out of range, or OMP_THREAD_LIMIT is below the threads; RuntimeFailure(out_of_memory) without memory or
  /// threads, LostRanks, and what reading the rows and `progress` throw.
  Metrics run(const States& states, const RankOptions& options, Communicator& comm,
              const EvaluationProgress& progress = nullptr) const;
  /// Evaluates all rows with the states that this rank of a training holds. The programs must be compiled for these
  /// states (CompileOptions::holder). Frees the training's other memory until its next step. Collective over the
  /// training's ranks, which all get the same result. Throws as the other `run` does.
  Metrics run(RankRun& training, const EvaluationProgress& progress = nullptr) const;
  int ranks() const { return options_.ranks; }
  /// Returns the graph of a full batch in the first pass. It has the states that a run needs.
  const Graph& graph() const { return program().graph; }
  /// Returns the program of a full batch in the first pass.
  const Program& program() const { return passes_.front().front().program; }
  /// Returns the number of rows of a full batch.
  int64_t batch() const { return passes_.front().front().batch; }
  /// Returns all programs, in the order in which they run.
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
  /// Values over all rows, by name.
  using Values = std::map<std::string, Array>;

  Metrics run(const MakeRank& make, Communicator& comm, const EvaluationProgress& progress) const;
  void run_pass(size_t pass, const MakeRank& make, Communicator& comm, Counter& counter, Values& values) const;
  void run_part(const Part& part, RankRun& rank, bool compares_labels, Counter& counter, Joiner& joiner) const;

  EvaluationOptions options_;
  bool classifies_ = false;
  int64_t rows_ = 0;
  std::optional<RowPasses> row_passes_;
  std::vector<std::vector<Part>> passes_;
};

}  // namespace partita
