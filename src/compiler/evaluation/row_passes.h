#pragma once
// Evaluation in batches with the results of one batch of all rows: which results are reduced over the batches, and what
// is computed from the reduced values.

#include <memory>

#include "ir/graph/builder.h"

namespace partita {

/// How a network is evaluated in batches.
struct RowBatches {
  int64_t rows = 1;    // total rows
  int64_t batch = 1;   // rows of a batch; the last one may have fewer
  bool labels = true;  // whether the output "logits" is to be compared with the rows' labels, too
  bool places = true;  // whether the place of the label alone is compared, where that is a class
};

/// Returns the forward graph of a network for a number of rows.
using BuildForRows = std::function<Graph(int64_t rows)>;

/// A forward graph of all rows, split into passes over the rows in batches. Each pass computes sums (maxima, minima)
/// over the rows. Values that need complete sums are computed once, between passes and after the last one. A ratio of
/// two sums takes one pass, the variance of a result two.
class RowPasses {
 public:
  /// A value that is reduced over the batches.
  struct Result {
    std::string name;
    Type type;
    Reduce join;  // reduction over the batches; none: each batch has the same value
  };
  struct Pass {
    std::vector<Result> results;
    bool compares_labels = false;
  };

  /// Splits the graph. A network that takes only one number of rows is repeated, if that number is the batch, more than
  /// 1, and divides the rows. Its means over a batch are then scaled to shares of the means over all rows, and ratios
  /// of its sums are exact. Other scalars are computed per batch, as the network defines them, and averaged. Throws
  /// InvalidArgument, which names the node, for a network that needs all rows at once if there are several batches.
  /// Throws it, too, if the network depends on the number of rows. Throws what `build` throws for a batch and, unless
  /// the network is repeated, for all rows.
  RowPasses(const BuildForRows& build, const OpSet& ops, const RowBatches& batches);

  const std::vector<Pass>& passes() const { return passes_; }
  /// Returns the graph that a batch of `batch` rows computes in a pass. Its outputs are the results, by name. If the
  /// pass compares labels, they are also kLabelPlace and kFiniteRow (compiler/plan/outputs.h), or "logits" if the graph
  /// has no input "label" with a number for each of their rows or `RowBatches::places` is off. Values of earlier passes
  /// are inputs without rows, named by `given_name`. Throws InvalidArgument, as the constructor does, if a node depends
  /// on which rows a batch of that size has.
  Graph batch_graph(size_t pass, int64_t batch) const;
  static std::string given_name(const std::string& value) { return value + ".of_all_rows"; }
  /// Returns the graph of what is computed when the results of a pass are joined; it may be empty. Its inputs and
  /// outputs have the names of the values.
  Graph joined_graph(size_t pass) const;
  /// Returns the scalar outputs of the network, "loss" first. Each is a name and the name of its value among results
  /// and outputs of joined graphs.
  const std::vector<std::pair<std::string, std::string>>& scalars() const { return scalars_; }
  /// Returns the graph of all rows, or of one batch if the network takes no other number of rows.
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
