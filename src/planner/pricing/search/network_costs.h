#pragma once
// The costs of one network on one cluster, under many configurations.

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "planner/pricing/layers/network_lowering.h"
#include "planner/pricing/search/early_bounds.h"
#include "planner/pricing/step/price.h"

namespace partita {

/// The seconds of all layers on the ranks that share rows, by the rows of a micro-batch.
class RowCosts {
 public:
  /// `lowering` must outlive this object. `groups` groups of ranks that share rows work at once.
  RowCosts(NetworkLowering& lowering, const LoweringKey& key, int64_t groups)
      : lowering_(lowering), key_(key), groups_(groups) {}
  /// Returns the seconds per row for a micro-batch of `rows`. Throws LoweringErrors.
  const RowSeconds& of(int64_t rows);
  /// Returns the seconds of each layer for a micro-batch of `rows`. Throws as `of` does.
  LayerSeconds& layers(int64_t rows);

 private:
  NetworkLowering& lowering_;
  const LoweringKey key_;
  const int64_t groups_;
  std::map<int64_t, RowSeconds> cache_;
  std::map<int64_t, LayerSeconds> layers_;
};

/// Prices configurations of one network. Prices, stages and lowered layers are cached.
class NetworkCosts {
 public:
  /// `forward` has the rows of the global batch. `ops` and `cluster` must outlive this object. Throws InvalidArgument
  /// if no input of `forward` has a batch.
  NetworkCosts(const Graph& forward, const OpSet& ops, const Cluster& cluster, NetworkOptions options)
      : lowering_(forward, ops, cluster, std::move(options)) {}
  NetworkCosts(const NetworkCosts&) = delete;  // parts of it refer to others

  /// Completes and prices a configuration. Throws InvalidArgument if its values contradict each other or do not divide
  /// the batch (`completed`), if the order of the pipeline is too long (`make_sequence`), and as `stages` does.
  Price price(const Configuration& configuration);
  /// Returns the stages of a completed configuration, for any level of optimizer sharding. The reference is valid until
  /// `evict_stages`. Throws InvalidArgument for more stages than layers, for more recomputed layers than a group has,
  /// for more ranks than the cluster has, or if the network cannot be lowered so.
  StagePrices& stages(Configuration configuration);
  /// Returns the configuration with as many recomputed layers in each group of stages as a step needs to fit in
  /// `memory` bytes, chosen to add the least time; its own recomputation is ignored. None if no numbers are found that
  /// fit. Throws InvalidArgument as `stages` does, and if the order of the pipeline is too long (`make_sequence`).
  std::optional<Configuration> recomputed_to_fit(const Configuration& configuration, double memory);
  /// Returns a lower bound of the bytes of parameters and optimizer states in the largest group of stages, at the
  /// configuration's level of optimizer sharding. Throws LoweringErrors.
  double min_states(const Configuration& configuration);
  /// Evicts all stages, and all layouts of stages, where the cache of either has grown too large. Then invalidates the
  /// references that `stages` returned.
  void evict_stages();
  /// Returns the seconds of all layers by the rows of a rank's micro-batch. Only the values of the configuration that
  /// decide the lowering and its number of groups count. The reference lives as long as this object.
  RowCosts& row_costs(const Configuration& configuration);
  /// Returns the messages of all layers among the ranks that share the batch. They depend on the lowering, and on the
  /// sizes of the configuration. Throws LoweringErrors.
  const LayerMessages& layer_messages(const Configuration& configuration);
  /// The part of the cluster that has work.
  const Cluster& busy_cluster(const Configuration& configuration) {
    return lowering_.part(lowering_.key_of(configuration)).cluster;
  }
  /// Returns the first class of links for which the same cuts were found as for the configuration, without
  /// recomputation; its own class if it is not lowered. With either class the configuration has the same price, unless
  /// it recomputes layers.
  int64_t alike_links(Configuration configuration);
  /// Whether the layers of a configuration are already lowered, so their costs are cheap to find.
  bool is_lowered(const Configuration& configuration) const {
    return lowering_.is_lowered(lowering_.key_of(configuration));
  }
  NetworkLowering& lowering() { return lowering_; }
  int64_t batch() const { return lowering_.batch(); }
  /// Returns the options for cutting the nodes of a stage on its ranks. They refer to this object, which must outlive
  /// them. Throws InvalidArgument if the configuration asks for a search and cuts can be neither searched nor given, or
  /// the network cannot be lowered for one rank. The `costs` of the options throw InvalidArgument if the cluster has
  /// too few ranks.
  PlanOptions plan_options(const Configuration& configuration) {
    return lowering_.plan_options(lowering_.key_of(configuration));
  }
  /// Rows of the smallest micro-batch with a row for each rank that may divide its rows: 1 or, if cuts are searched or
  /// given, the smallest divisor of the batch that is at least `tensor`, at most the batch. Smaller ones are legal.
  int64_t min_rows(const Configuration& configuration) const {
    return lowering_.min_rows(lowering_.key_of(configuration));
  }
  /// Number of layers of the whole network that can be assigned to stages.
  int64_t layers() const;
  /// Number of layers of the whole network that are copies of a repeated one.
  int64_t repeated_layers() const;
  const FoldedGraph& folded() const { return lowering_.folded(); }
  /// Floating-point operations of a step on all ranks together, without recomputation. Throws InvalidArgument if the
  /// network cannot be lowered for one rank.
  double step_flops();

 private:
  std::optional<Configuration> fit(Configuration configuration, double memory);
  LayerMessages find_layer_messages(const Configuration& configuration, const LoweringKey& key);
  CostsOfPolicy costs_of(const Configuration& configuration);
  std::shared_ptr<const StageLayout> layout(const Configuration& configuration);

  NetworkLowering lowering_;
  OrderCache orders_;
  KeptMicroBatchesCache kept_micro_batches_;
  std::map<Configuration, std::unique_ptr<StagePrices>> stages_;  // with zero = 0: valid for any level
  /// Layouts by key, number of groups, rows of a micro-batch, groups of stages, stages of a group and split.
  std::map<std::tuple<LoweringKey, int64_t, int64_t, int64_t, int64_t, LayerSplit>, std::shared_ptr<const StageLayout>>
      layouts_;
  std::map<Configuration, Price> prices_;
  std::map<std::pair<Configuration, double>, std::optional<Configuration>> fitted_;  // by memory in bytes
  std::map<std::pair<LoweringKey, int64_t>, RowCosts> row_costs_;                    // by key and number of groups
  std::map<LoweringKey, std::pair<double, double>> states_;  // elements of parameters and optimizer states
  std::map<std::tuple<LoweringKey, int64_t, int64_t>, LayerMessages> layer_messages_;  // by key, data and pipeline
  double step_flops_ = 0;
};

}  // namespace partita
