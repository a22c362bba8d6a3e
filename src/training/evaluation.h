#pragma once
// A network in evaluation on every row of a data set.

#include <functional>

#include "training/metrics.h"
#include "training/rank_run.h"

namespace partita {

struct EvaluationOptions {
  int ranks = 1;                           // that run a batch
  int64_t most_rows = 256;                 // of a batch
  int64_t top = 5;                         // of Metrics::correct_in_top
  std::optional<int64_t> ignored_label{};  // rows of this class count for nothing
};

/// Called on the first rank: how many rows are done, of how many.
using EvaluationProgress = std::function<void(int64_t done, int64_t rows)>;

/// Compiled once; run as often as there are new states. The rows that do not fill a batch have a program of their own,
/// on the same ranks.
class Evaluation {
 public:
  using MakeProgram = std::function<Program(int64_t batch)>;

  /// `make` compiles the network with its loss. Rows are counted as right or wrong when it has an output "logits" and
  /// the rows a column "label". Throws InvalidArgument for an empty data set.
  Evaluation(DatasetPtr dataset, const EvaluationOptions& options, const MakeProgram& make);

  /// The same result on every rank of `comm`, which has as many ranks as the options say; all take part.
  Metrics run(const States& states, const RankOptions& options, Communicator& comm,
              const EvaluationProgress& progress = nullptr) const;
  /// Of programs that were compiled for the states of a training, where this rank of it has them.
  Metrics run(const RankRun& training, const EvaluationProgress& progress = nullptr) const;
  int ranks() const { return options_.ranks; }
  /// A graph with the states that a run needs.
  const Graph& graph() const { return program().graph; }
  /// Of the batches; that of rows that do not fill one is like it.
  const Program& program() const { return parts_.front().program; }

 private:
  struct Part {
    DatasetPtr rows;
    int64_t batch;
    Program program;
  };
  /// Counts, then the scalars of the loss: doubles, so that ranks add them in one message; counts stay exact.
  using Sums = std::vector<double>;
  class Adder;

  bool classifies() const;
  using MakeRank = std::function<std::unique_ptr<RankRun>(const Program&)>;
  Metrics run(const MakeRank& make, Communicator& comm, const EvaluationProgress& progress) const;
  void add(const Part& part, Adder& adder, RankRun& rank) const;

  std::vector<Part> parts_;
  EvaluationOptions options_;
  std::vector<std::string> scalars_;  // the names of the scalars, "loss" first
};

}  // namespace partita
