#pragma once
// One network on one cluster, to be priced under many configurations.

#include <memory>

#include "planning/busy_ranks.h"
#include "planning/price.h"
#include "planning/training_lowering.h"

namespace partita {

/// Of the global batch. Throws InvalidArgument for a graph without one.
int64_t rows_of(const Graph& forward);

struct NetworkOptions {
  TrainingOptions training{};
  Precision precision{};
  bool fold = true;               // false: all layers are lowered, for tests
  Search search = Search::exact;  // for cuts that are searched
  /// How the ranks that share the same rows cut a graph, instead of what a configuration asks for.
  std::function<Plan(const Graph&, int64_t ranks)> own_plan = nullptr;
};

/// Seconds of all layers for a row of a rank's micro-batch, forward and backward.
struct RowSeconds {
  double all = 0;
  double weights = 0;  // of these, of gradients of parameters alone
};

/// What a configuration costs depends on few of its numbers where one rank's layers are concerned; each combination of
/// these is lowered once, on the folded graph: gradients, plan, collectives, as for a training.
class NetworkCosts {
 public:
  /// `forward` has the rows of the global batch. The ops and the cluster outlive this.
  NetworkCosts(const Graph& forward, const OpSet& ops, const Cluster& cluster, NetworkOptions options);
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
  bool is_lowered(const Configuration& configuration) const { return known_.contains(key_of(configuration)); }
  /// What the layers of a completed configuration cost in other units than those of stages: contiguous nodes of the
  /// folded graph.
  LayerCosts costs_of_units(const Configuration& configuration, std::vector<FoldedUnit> units);
  int64_t batch() const { return batch_; }
  /// Whether cuts are searched at all.
  bool searches() const { return options_.search != Search::propagation; }
  /// Throws InvalidArgument unless cuts can be searched.
  void require_search() const;
  /// The classes of links near those that the ranks of `tensor` have, for searched cuts.
  std::vector<int64_t> links(const Configuration& configuration);
  /// How the nodes of a stage are cut on its ranks. This outlives the result.
  PlanOptions plan_options(const Configuration& configuration);
  /// Of a micro-batch.
  int64_t least_rows(const Configuration& configuration) const { return least_rows(key_of(configuration)); }
  /// Of the whole network: units that stages can consist of, and those that are copies.
  int64_t layers() const;
  int64_t repeated_layers() const;
  const FoldedGraph& folded() const { return folded_; }
  /// Floating-point operations of a step on all ranks, nothing recomputed.
  double step_flops();

 private:
  struct Key {
    int64_t tensor = 1, context = 1;
    TensorCuts cuts = TensorCuts::blocks;
    int64_t squeeze = 0;
    int64_t links = 0;
    bool sequence_parallel = false;
    Recompute recompute = Recompute::none;
    int64_t part = 0;  // of the cluster, that has work
    auto operator<=>(const Key&) const = default;
  };
  std::optional<Configuration> fit(Configuration configuration, double memory);
  Key key_of(const Configuration& configuration) const;
  PlanOptions plan_options(const Key& key);
  double exposed_gradients(const Key& key);
  PlanCosts costs_of_links(const Key& key, const Mesh& mesh);
  /// Groups of ranks with rows of their own, as many as the batch allows.
  double most_groups(const Key& key) const {
    return std::max(1.0, static_cast<double>(batch_) / static_cast<double>(key.tensor));
  }
  int64_t groups_of(const Configuration& configuration);
  Mesh busy_mesh(const Key& key, int64_t groups) const;
  int64_t least_rows(const Key& key) const;
  int64_t lowered_rows(const Key& key) const;
  const LoweredLayers& lowered_layers(const Key& key);
  LoweredLayers lower(const Key& key, const FoldedGraph& folded);
  /// `groups`: of ranks that share their rows, all at work.
  const LayerCosts& layer_costs(const Key& key, int64_t groups, int64_t micro_batch);

  const NetworkOptions options_;
  const FoldedGraph folded_;
  int64_t batch_ = 1;
  TrainingLowering lowering_;
  BusyParts parts_;
  KnownOrders orders_;
  KnownKeptMicroBatches kept_micro_batches_;
  std::map<Key, LoweredLayers> known_;
  std::map<Key, InvalidArgument> refused_;                         // why a lowering is not to be had
  std::map<std::tuple<Key, int64_t, int64_t>, LayerCosts> costs_;  // with groups, and the rows of a micro-batch
  std::map<Configuration, std::unique_ptr<StagePrices>> stages_;   // whatever the level of optimizer sharding
  std::map<Configuration, Price> prices_;
  std::map<std::pair<Configuration, double>, std::optional<Configuration>> fitted_;  // into bytes
  double step_flops_ = 0;
};

}  // namespace partita
