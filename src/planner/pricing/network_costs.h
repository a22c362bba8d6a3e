#pragma once
// One network on one cluster, to be priced under many configurations.

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "planner/pricing/network_lowering.h"
#include "planner/pricing/price.h"

namespace partita {

/// Seconds of all layers for a row of a rank's micro-batch, forward and backward.
struct RowSeconds {
  double all = 0;
  double weights = 0;  // of these, of gradients of parameters alone
};

/// What configurations of one network cost. Each is priced once, from layers that are lowered once (NetworkLowering).
class NetworkCosts {
 public:
  /// `forward` has the rows of the global batch. The ops and the cluster outlive this.
  NetworkCosts(const Graph& forward, const OpSet& ops, const Cluster& cluster, NetworkOptions options)
      : lowering_(forward, ops, cluster, std::move(options)) {}
  NetworkCosts(const NetworkCosts&) = delete;  // parts of it refer to others

  /// Completes the configuration. Throws InvalidArgument for one that does not divide, or cannot be lowered.
  Price price(const Configuration& configuration);
  /// The stages of a completed configuration.
  StagePrices& stages(Configuration configuration);
  /// The same configuration with the recomputation of layers that adds the least time to each group of stages and lets
  /// a step fit into some bytes; none when recomputing all is not enough.
  std::optional<Configuration> recomputed_to_fit(const Configuration& configuration, double memory);
  /// Bytes of states that the largest group of stages has at least, whatever is recomputed.
  double least_states(const Configuration& configuration);
  /// Forgets stages that were asked for when there are many: what `stages` returned is no longer there.
  void forget_many_stages();
  /// Only what decides the lowering counts.
  RowSeconds row_seconds(const Configuration& configuration);
  /// Whether its layers are lowered, so that their costs take no time to find.
  bool is_lowered(const Configuration& configuration) const {
    return lowering_.is_lowered(lowering_.key_of(configuration));
  }
  /// What the layers of a completed configuration cost in other units than those of stages: contiguous nodes of the
  /// folded graph.
  LayerCosts costs_of_units(const Configuration& configuration, std::vector<FoldedUnit> units) {
    return lowering_.costs_of_units(configuration, std::move(units));
  }
  int64_t batch() const { return lowering_.batch(); }
  /// Whether cuts are searched at all.
  bool searches() const { return lowering_.searches(); }
  /// Throws InvalidArgument unless cuts can be searched.
  void require_search() const { lowering_.require_search(); }
  /// The classes of links near those that the ranks of `tensor` have, for searched cuts.
  std::vector<int64_t> links(const Configuration& configuration) { return lowering_.links(configuration); }
  /// How the nodes of a stage are cut on its ranks. This outlives the result.
  PlanOptions plan_options(const Configuration& configuration) {
    return lowering_.plan_options(lowering_.key_of(configuration));
  }
  /// Of a micro-batch.
  int64_t least_rows(const Configuration& configuration) const {
    return lowering_.least_rows(lowering_.key_of(configuration));
  }
  /// Of the whole network: units that stages can consist of, and those that are copies.
  int64_t layers() const;
  int64_t repeated_layers() const;
  const FoldedGraph& folded() const { return lowering_.folded(); }
  /// Floating-point operations of a step on all ranks, nothing recomputed.
  double step_flops();

 private:
  std::optional<Configuration> fit(Configuration configuration, double memory);

  NetworkLowering lowering_;
  KnownOrders orders_;
  KnownKeptMicroBatches kept_micro_batches_;
  std::map<Configuration, std::unique_ptr<StagePrices>> stages_;  // whatever the level of optimizer sharding
  std::map<Configuration, Price> prices_;
  std::map<std::pair<Configuration, double>, std::optional<Configuration>> fitted_;  // into bytes
  double step_flops_ = 0;
};

}  // namespace partita
