#pragma once
// The configurations that a search considers, and lower bounds of their steps.

#include "planner/pricing/search/search_configurations.h"

namespace partita {

/// The configurations that the pins leave open among these:
/// - `tensor`: for up to 16 ranks all numbers; for more their divisors and powers of two;
/// - `pipeline`: all numbers for the remaining ranks, up to the number of layers; of more than 64 ranks and layers the
///   divisors of the remaining ranks and of the repeated layers, and powers of two;
/// - `data`: divisors of the batch; remaining ranks are idle;
/// - `context`: 1;
/// - `cuts` and `sequence_parallel`: both values, if `tensor` is above 1;
/// - `squeeze` of searched cuts: 0; if nothing fits, 1 to 4;
/// - `links` of searched cuts: the six classes near the links of the cluster, two if cuts are squeezed;
/// - `micro_batch`: divisors of a rank's rows, in at most kMaxMicroBatches micro-batches;
/// - `interleave`: 1 to 8 stages of a group, as far as there are layers;
/// - `order`: `interleaved` for several stages of a group; `1f1b` and `zero_bubble` for one;
/// - `layer_split`: both values; `zero`: all levels; `recompute`: nothing if that fits, else as few layers as possible,
/// or all. Pinned values may lie outside of these.
class SearchedSpace {
 public:
  /// The request must outlive this object.
  explicit SearchedSpace(const SearchRequest& request) : request_(request), costs_(request.costs) {}

  /// Each of these functions returns the values that a search tries for one key: the pinned value alone, or those of
  /// the space; none if the keys chosen before exclude them. Keys are chosen in the order of the functions, so
  /// `configuration` must already have its values for the functions above. Only `links` throws: InvalidArgument if the
  /// cluster has too few ranks.
  std::vector<int64_t> tensors() const;
  std::vector<int64_t> contexts() const;
  std::vector<TensorCuts> cuts(const Configuration& configuration) const;
  std::vector<int64_t> links(const Configuration& configuration) const;
  /// Returns the class of links to search instead of the configuration's: the first with the same cuts. Recomputation
  /// may tell the two apart, and so do pins: then each class is searched.
  int64_t standing_links(const Configuration& configuration) const;
  std::vector<bool> sequence_parallel(const Configuration& configuration) const;
  std::vector<int64_t> pipelines(const Configuration& configuration) const;
  std::vector<int64_t> data(const Configuration& configuration) const;
  /// The reference lives as long as this object.
  const std::vector<int64_t>& micro_batches(const Configuration& configuration) const;
  std::vector<int64_t> interleaves(const Configuration& configuration) const;
  std::vector<Order> orders(const Configuration& configuration) const;
  std::vector<LayerSplit> layer_splits(const Configuration& configuration) const;
  std::vector<int64_t> levels(const Configuration& configuration) const;
  /// Whether a completed configuration is in the space; its recomputation and `squeeze` are ignored. Throws as `links`
  /// does.
  bool contains(const Configuration& configuration) const;

  /// Returns the open keys, each with its limits if there are values that are not searched, and the values of the other
  /// keys: "data, tensor, .. (context=1)". `squeezed`: whether squeezed cuts were searched, too.
  std::string text(bool squeezed) const;

  /// Returns a lower bound of the seconds of steps with this data, context, tensor, pipeline and cuts, for any values
  /// of the other keys; infinite if the space has none for micro-batch or interleaving. Throws LoweringErrors.
  double bound_of_sizes(Configuration configuration) const;
  /// Returns a lower bound of the seconds of steps of the configuration with any layers per stage and recomputation.
  /// Throws as `bound_of_sizes` does.
  double bound_of_layers(const Configuration& configuration) const;
  /// Returns a lower bound of the seconds of steps of the configuration with its layers assigned to stages; 0 if it
  /// counts the layers that it recomputes. Throws InvalidArgument for more stages than layers, and as `bound_of_sizes`
  /// does.
  double bound_of_layout(const Configuration& configuration) const;
  /// Whether balanced layers would differ from even ones. Throws as `bound_of_layout` does.
  bool differs_if_balanced(const Configuration& configuration) const;
  /// Returns a lower bound of the seconds of steps of exactly this configuration with any recomputation. Throws
  /// InvalidArgument for more stages than layers, for more ranks than the cluster has, or if the network cannot be
  /// lowered so.
  double bound_of_excess(Configuration configuration) const;

 private:
  bool has_many_groups() const;
  RowCosts& row_costs(Configuration configuration) const;

  const SearchRequest& request_;
  NetworkCosts& costs_;
  mutable std::map<int64_t, std::vector<int64_t>> micro_batches_;  // by rows of a rank
};

}  // namespace partita
