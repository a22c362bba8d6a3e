#pragma once
// The costs of one network on one cluster, under many configurations.

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "planner/pricing/network_lowering.h"
#include "planner/pricing/price.h"

namespace partita {

/// Seconds of all layers per row of a rank's micro-batch, forward and backward.
struct RowSeconds {
  double all = 0;
  double weights = 0;  // part of `all` that makes only gradients of parameters
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
  /// configuration's level of optimizer sharding. Throws InvalidArgument if the network cannot be lowered so, or the
  /// cluster has too few ranks.
  double min_states(const Configuration& configuration);
  /// Evicts all of the stage cache if it has more than 4096 entries. Invalidates references returned by `stages` then.
  void evict_stages();
  /// Seconds of all layers per row of a rank's micro-batch. Only the values of the configuration that decide the
  /// lowering, its micro-batch and its number of groups count. Throws InvalidArgument if the network cannot be lowered
  /// so, or the cluster has too few ranks.
  RowSeconds row_seconds(const Configuration& configuration);
  /// Whether the layers of a configuration are already lowered, so that their costs are cheap to find.
  bool is_lowered(const Configuration& configuration) const {
    return lowering_.is_lowered(lowering_.key_of(configuration));
  }
  /// Returns the costs of a completed configuration by other units than those of stages: ranges of nodes of the folded
  /// graph. Throws InvalidArgument if the network cannot be lowered so, or the cluster has too few ranks.
  LayerCosts costs_of_units(const Configuration& configuration, std::vector<FoldedUnit> units) {
    return lowering_.costs_of_units(configuration, std::move(units));
  }
  int64_t batch() const { return lowering_.batch(); }
  /// Whether cuts can be searched, that is unless the search is propagation.
  bool searches() const { return lowering_.searches(); }
  /// Checks that cuts can be searched or are given. Throws InvalidArgument if not.
  void require_search() const { lowering_.require_search(); }
  /// The classes of links to search for the ranks of `tensor` (`link_classes`); for squeezed cuts the two nearest.
  /// Throws InvalidArgument if the cluster has too few ranks.
  std::vector<int64_t> links(const Configuration& configuration) { return lowering_.links(configuration); }
  /// Returns the options for cutting the nodes of a stage on its ranks. They refer to this object, which must outlive
  /// them. Throws InvalidArgument if the configuration asks for a search and cuts can be neither searched nor given, or
  /// the network cannot be lowered for one rank. The `costs` of the options throw InvalidArgument if the cluster has
  /// too few ranks.
  PlanOptions plan_options(const Configuration& configuration) {
    return lowering_.plan_options(lowering_.key_of(configuration));
  }
  /// Rows of the smallest micro-batch that the cuts of a configuration allow: 1 or, if cuts are searched or given, the
  /// smallest divisor of the batch with a row for each rank of `tensor`, at most the batch.
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

  NetworkLowering lowering_;
  OrderCache orders_;
  KeptMicroBatchesCache kept_micro_batches_;
  std::map<Configuration, std::unique_ptr<StagePrices>> stages_;  // with zero = 0: valid for any level
  std::map<Configuration, Price> prices_;
  std::map<std::pair<Configuration, double>, std::optional<Configuration>> fitted_;  // by memory in bytes
  double step_flops_ = 0;
};

}  // namespace partita
