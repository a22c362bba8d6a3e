#pragma once
// A network in evaluation on every row of a data set.

#include <array>

#include "train/metrics.h"
#include "train/rank_run.h"

namespace partita {

struct EvaluationOptions {
  int ranks = 1;            // that share a batch
  int64_t most_rows = 256;  // of a batch
  int64_t top = 5;          // of Metrics::correct_in_top
};

/// The plan with the output "logits" cut into rows, of which each rank reads the labels: by the axes that cut the rows
/// of the input "label", then by those that cut the logits otherwise.
Plan with_logits_in_rows(Plan plan, const Graph& graph, const OpSet& ops);

/// Compiled once; run as often as there are new states. The rows that do not fill a batch are left to one rank.
class Evaluation {
 public:
  using MakeProgram = std::function<Program(int64_t batch, int ranks)>;

  /// `make` compiles the network with outputs "logits", in rows, and "loss". Throws InvalidArgument for an empty data
  /// set.
  Evaluation(DatasetPtr dataset, const EvaluationOptions& options, const MakeProgram& make);

  /// The same result on every rank of `comm`, which has as many ranks as the options say; all take part.
  Metrics run(const States& states, const RankOptions& options, Communicator& comm) const;
  int ranks() const { return options_.ranks; }
  /// A graph with the states that a run needs.
  const Graph& graph() const { return program().graph; }
  /// Of the batches; that of rows that do not fill one is like it.
  const Program& program() const { return parts_.front().program; }

 private:
  struct Part {
    DatasetPtr rows;
    int64_t batch;
    int ranks;
    Program program;
  };
  enum Sum { kSamples, kCorrect, kCorrectInTop, kLoss, kSums };
  using Sums = std::array<double, kSums>;  // doubles, so that ranks add them in one message; counts stay exact

  void add(const Part& part, const States& states, const RankOptions& options, Communicator& comm, Sums& sums) const;

  std::vector<Part> parts_;
  EvaluationOptions options_;
};

}  // namespace partita
