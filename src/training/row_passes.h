#pragma once
// An evaluation in batches that is that of all rows: which results of a batch are added over the batches, and what is
// computed of the sums.

#include <map>
#include <memory>

#include "ir/graph/builder.h"

namespace partita {

/// How a network is to be evaluated.
struct RowBatches {
  int64_t rows = 1;    // in all
  int64_t batch = 1;   // rows of a batch; the last one may have fewer
  bool logits = true;  // whether the output "logits" is wanted, too
};

/// The forward graph of a network for a number of rows.
using BuildForRows = std::function<Graph(int64_t rows)>;

/// A forward graph of all rows, as passes over the rows in batches. Each pass computes what is a sum (a maximum, a
/// minimum) over the rows; between passes, and after the last one, what needs the whole of such sums is computed once.
/// A ratio of two sums takes one pass, the variance of a result two.
class RowPasses {
 public:
  /// A value that each batch makes its part of.
  struct Result {
    std::string name;
    Type type;
    Reduce join;  // over the batches; none: it is the same in each of them
  };
  struct Pass {
    std::vector<Result> results;
    bool makes_logits = false;
  };

  /// Throws InvalidArgument for a network that needs all rows at once where there are several batches, naming the node,
  /// and for one that `build` cannot make for as many rows as there are. A network that takes one number of rows alone
  /// is repeated where that is the batch and divides the rows. Its means over a batch are shares of means over all, and
  /// so are ratios of its sums; other scalars are computed of each batch, as it says, and their mean is taken.
  RowPasses(const BuildForRows& build, const OpSet& ops, const RowBatches& batches);

  const std::vector<Pass>& passes() const { return passes_; }
  /// What a batch of so many rows computes in a pass: results are outputs by their names, logits are "logits". What
  /// earlier passes made are inputs without rows, called as `given_name` says.
  Graph batch_graph(size_t pass, int64_t batch) const;
  static std::string given_name(const std::string& value) { return value + ".of_all_rows"; }
  /// What is computed when the results of a pass are joined: of inputs called as values are, into outputs called so.
  Graph joined_graph(size_t pass) const;
  /// The scalar outputs of the network, "loss" first: their names, and the names of their values among results and
  /// outputs of joined graphs.
  const std::vector<std::pair<std::string, std::string>>& scalars() const { return scalars_; }
  /// The graph of all rows, or of a batch where the network takes no other number of rows.
  const Graph& whole() const;

 private:
  struct Analysis;
  class BatchGraph;

  void find_repeated(Analysis& found);
  void find_passes(Analysis& found);
  void find_results();

  std::shared_ptr<const Analysis> found_;
  std::vector<Pass> passes_;
  std::vector<std::pair<std::string, std::string>> scalars_;
};

}  // namespace partita
