#pragma once
// Which configurations a search chooses among, and seconds that no step of them is below.

#include "planner/pricing/search_configurations.h"

namespace partita {

/// The configurations that pins leave open, of these:
/// - `tensor`: all numbers of up to 16 ranks; of more ranks their divisors and powers of two;
/// - `pipeline`: the same of the ranks that are left, and numbers that divide the repeated layers; at most the layers;
/// - `data`: divisors of the batch; ranks that are left over are idle;
/// - `context`: 1;
/// - `cuts` and `sequence_parallel`: both, where several ranks share a tensor;
/// - `squeeze` of searched cuts: 0; where nothing fits so, 1 to 4;
/// - `links` of searched cuts: the six classes near those of the cluster, two of squeezed cuts;
/// - `micro_batch`: divisors of a rank's rows that searched cuts divide;
/// - `interleave`: 1 to 8 stages of a group, as far as there are layers;
/// - `order`: `interleaved` of several stages of a group, `1f1b` and `zero_bubble` of one;
/// - `deal`: both; `zero`: all levels; `recompute`: nothing where all fits, else as few layers as must be, or all.
/// What is pinned may lie outside of that.
class SearchedSpace {
 public:
  /// The request outlives this.
  explicit SearchedSpace(const SearchRequest& request) : request_(request), costs_(request.costs) {}

  /// Each list is for a configuration in which what stands in front of it is chosen.
  std::vector<int64_t> tensors() const;
  std::vector<int64_t> contexts() const;
  std::vector<TensorCuts> cuts(const Configuration& configuration) const;
  std::vector<int64_t> links(const Configuration& configuration) const;
  std::vector<bool> sequence_parallel(const Configuration& configuration) const;
  std::vector<int64_t> pipelines(const Configuration& configuration) const;
  std::vector<int64_t> data(const Configuration& configuration) const;
  std::vector<int64_t> micro_batches(const Configuration& configuration) const;
  std::vector<int64_t> interleaves(const Configuration& configuration) const;
  std::vector<Order> orders(const Configuration& configuration) const;
  std::vector<Deal> deals(const Configuration& configuration) const;
  std::vector<int64_t> levels(const Configuration& configuration) const;
  /// Whether a completed configuration is one of these, whatever it recomputes.
  bool contains(const Configuration& configuration) const;

  /// The keys that are open, and what the others are: "data, tensor, .. (context=1)".
  std::string text() const;

  /// Seconds that no step is below which shares the ranks so, whatever the rest is; infinite where there is no rest.
  double bound_of_sizes(Configuration configuration) const;
  /// The same of steps with that micro-batch, interleaving, order and level.
  double bound_of_layers(Configuration configuration) const;
  /// The same of steps with the layers of each stage, whatever is recomputed of them.
  double bound_of_excess(Configuration configuration) const;

 private:
  const SearchRequest& request_;
  NetworkCosts& costs_;
};

}  // namespace partita
