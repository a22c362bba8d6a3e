#pragma once
// The layers of one network, lowered for the ranks that share rows, under any configuration.

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "planner/pricing/busy_ranks.h"
#include "planner/pricing/configuration.h"
#include "planner/pricing/precision.h"
#include "planner/pricing/training_lowering.h"
#include "planner/pricing/unit_costs.h"

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

/// What decides how layers are lowered on the ranks that share rows.
struct LoweringKey {
  int64_t tensor = 1, context = 1;
  TensorCuts cuts = TensorCuts::blocks;
  int64_t squeeze = 0;
  int64_t links = 0;
  bool sequence_parallel = false;
  Recompute recompute = Recompute::none;
  int64_t part = 0;  // of the cluster, that has work
  auto operator<=>(const LoweringKey&) const = default;
};

/// What a configuration costs depends on few of its numbers where one rank's layers are concerned (LoweringKey); each
/// combination of these is lowered once, on the folded graph: gradients, plan, collectives, as for a training.
class NetworkLowering {
 public:
  /// `forward` has the rows of the global batch. The ops and the cluster outlive this.
  NetworkLowering(const Graph& forward, const OpSet& ops, const Cluster& cluster, NetworkOptions options);
  NetworkLowering(const NetworkLowering&) = delete;  // parts of it refer to others

  const NetworkOptions& options() const { return options_; }
  const FoldedGraph& folded() const { return folded_; }
  /// Whether a policy recomputes something of each unit of `folded`.
  const std::vector<bool>& recomputable() const { return recomputable_; }
  int64_t batch() const { return batch_; }
  /// Whether cuts are searched at all.
  bool searches() const { return options_.search != Search::propagation; }
  /// Throws InvalidArgument unless cuts can be searched.
  void require_search() const;

  LoweringKey key_of(const Configuration& configuration) const;
  /// The ranks that have work.
  BusyRanks& part(const LoweringKey& key) { return parts_.of(key.part); }
  /// Groups of ranks that share their rows, as many of those at work as it takes for all to lie alike.
  int64_t groups_of(const Configuration& configuration);
  /// Whether layers are lowered, so that their costs take no time to find.
  bool is_lowered(const LoweringKey& key) const { return known_.contains(key); }
  /// Costs for a micro-batch of so many rows; `groups`: of ranks that share their rows, all at work. They stay where
  /// they are. Throws InvalidArgument for what cannot be lowered.
  const LayerCosts& layer_costs(const LoweringKey& key, int64_t groups, int64_t micro_batch);
  /// What layers cost in other units than those of stages: contiguous nodes of the folded graph.
  LayerCosts costs_of_units(const Configuration& configuration, std::vector<FoldedUnit> units);
  /// Rows of the least micro-batch, and of one that is lowered: what depends on the rows grows with them, whatever
  /// their number.
  int64_t least_rows(const LoweringKey& key) const;
  int64_t lowered_rows(const LoweringKey& key) const;
  /// The classes of links near those that the ranks of `tensor` have, for searched cuts; of squeezed ones the nearest.
  std::vector<int64_t> links(const Configuration& configuration);
  /// How the nodes of a stage are cut on its ranks. This outlives the result.
  PlanOptions plan_options(const LoweringKey& key);

 private:
  double exposed_gradients(const LoweringKey& key);
  PlanCosts costs_of_links(const LoweringKey& key, const Mesh& mesh);
  /// Groups of ranks with rows of their own, as many as the batch allows.
  double most_groups(const LoweringKey& key) const {
    return std::max(1.0, static_cast<double>(batch_) / static_cast<double>(key.tensor));
  }
  Mesh busy_mesh(const LoweringKey& key, int64_t groups) const;
  const LoweredLayers& lowered_layers(const LoweringKey& key);
  LoweredLayers lower(const LoweringKey& key, const FoldedGraph& folded);

  const NetworkOptions options_;
  const FoldedGraph folded_;
  const std::vector<bool> recomputable_;
  const int64_t batch_;
  TrainingLowering lowering_;
  BusyParts parts_;
  std::map<LoweringKey, LoweredLayers> known_;
  std::map<LoweringKey, InvalidArgument> refused_;                         // why a lowering is not to be had
  std::map<std::tuple<LoweringKey, int64_t, int64_t>, LayerCosts> costs_;  // with groups, and the rows of a micro-batch
};

}  // namespace partita
