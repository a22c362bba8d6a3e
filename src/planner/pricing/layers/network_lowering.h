#pragma once
// Lowers the layers of one network for the ranks that share rows, under any configuration.

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "planner/pricing/layers/busy_ranks.h"
#include "planner/pricing/layers/configuration.h"
#include "planner/pricing/layers/precision.h"
#include "planner/pricing/layers/training_lowering.h"
#include "planner/pricing/layers/unit_costs.h"

namespace partita {

/// Rows of the global batch of a graph. Throws InvalidArgument if no input has a batch.
int64_t rows_of(const Graph& forward);

struct NetworkOptions {
  TrainingOptions training{};
  Precision precision{};
  bool fold = true;               // false: all layers are lowered, for saved plans and tests
  Search search = Search::exact;  // how searched cuts are found
  /// Makes the plan of a graph on the `ranks` that share the same rows, instead of the configuration; null: the
  /// configuration does. It is not called for one rank. Lowering throws what it throws.
  std::function<Plan(const Graph&, int64_t ranks)> own_plan = nullptr;
};

/// The values of a configuration that decide how layers are lowered on the ranks that share rows.
struct LoweringKey {
  int64_t tensor = 1, context = 1;
  TensorCuts cuts = TensorCuts::blocks;
  int64_t squeeze = 0;
  int64_t links = 0;
  bool sequence_parallel = false;
  Recompute recompute = Recompute::none;
  int64_t part = 0;  // part of the cluster that has work (BusyParts::number_of)
  auto operator<=>(const LoweringKey&) const = default;
};

/// Lowers layers and caches the results. The costs of one rank's layers depend only on a few values of a configuration
/// (LoweringKey). Each combination of these is lowered once, on the folded graph, as for a training: with gradients,
/// plan and collectives.
class NetworkLowering {
 public:
  /// `forward` has the rows of the global batch. `ops` and `cluster` must outlive this object. Throws InvalidArgument
  /// if no input of `forward` has a batch.
  NetworkLowering(const Graph& forward, const OpSet& ops, const Cluster& cluster, NetworkOptions options);
  NetworkLowering(const NetworkLowering&) = delete;  // parts of it refer to others

  const NetworkOptions& options() const { return options_; }
  const FoldedGraph& folded() const { return folded_; }
  /// Per unit of `folded`, whether one of the policies recomputes something of it.
  const std::vector<bool>& recomputable() const { return recomputable_; }
  int64_t batch() const { return batch_; }
  /// Whether cuts can be searched, that is unless the search is propagation.
  bool searches() const { return options_.search != Search::propagation; }
  /// Checks that cuts can be searched or are given. Throws InvalidArgument if not.
  void require_search() const;

  /// Share of the operations of the forward pass that are attention, scores that a mask hides included.
  double attention_share();

  LoweringKey key_of(const Configuration& configuration) const;
  /// The part of the cluster that has work. Throws InvalidArgument if there cannot be as many ranks.
  BusyRanks& part(const LoweringKey& key) { return parts_.of(key.part); }
  /// Returns the number of rank groups to price instead of all groups of the configuration. It is the smallest one with
  /// the same placements and shared links (`Places::fewest_alike`). The ranks of a group share the same rows. Throws
  /// InvalidArgument if there cannot be as many ranks.
  int64_t groups_of(const Configuration& configuration);
  /// Whether layers are already lowered, so their costs are cheap to find.
  bool is_lowered(const LoweringKey& key) const {
    const auto cached = alike_.find(key);
    return layer_cache_.contains(cached == alike_.end() ? key : cached->second);
  }
  /// Returns a key with the same cuts, and therefore the same costs: the first with these cuts that differs at most in
  /// its class of links. Throws InvalidArgument if the network cannot be cut so.
  const LoweringKey& alike(const LoweringKey& key);
  /// The costs for a micro-batch of `micro_batch` rows, while `groups` groups of ranks that share rows work at once.
  /// The reference lives as long as this object. Throws LoweringErrors.
  const LayerCosts& layer_costs(const LoweringKey& key, int64_t groups, int64_t micro_batch);
  /// Returns the costs by other units than those of stages: ranges of nodes of the folded graph. They are not cached.
  /// Throws LoweringErrors.
  LayerCosts costs_of_units(const Configuration& configuration, std::vector<FoldedUnit> units);
  /// Rows of the smallest micro-batch with a row for each rank that may divide its rows (`NetworkCosts::min_rows`).
  int64_t min_rows(const LoweringKey& key) const;
  /// Rows of the micro-batch that is lowered; costs scale linearly from it to other numbers of rows. Throws
  /// InvalidArgument if the batch does not divide into a legal number of micro-batches.
  int64_t lowered_rows(const LoweringKey& key) const;
  /// The classes of links to search for the ranks of `tensor` (`link_classes`); for squeezed cuts the two nearest.
  /// Throws InvalidArgument if the cluster has too few ranks.
  std::vector<int64_t> links(const Configuration& configuration);
  /// Returns the options for cutting the nodes of a stage on its ranks. They refer to this object, which must outlive
  /// them. Throws InvalidArgument if the key asks for a search and cuts can be neither searched nor given, or the
  /// network cannot be lowered for one rank. The `costs` of the options throw InvalidArgument if the cluster has too
  /// few ranks.
  PlanOptions plan_options(const LoweringKey& key);

 private:
  double exposed_gradients(const LoweringKey& key);
  PlanCosts costs_of_links(const LoweringKey& key, const Mesh& mesh);
  /// The number of groups of ranks with their own rows that the batch allows, each rank having one row.
  double max_groups(const LoweringKey& key) const {
    return std::max(1.0, static_cast<double>(batch_) / static_cast<double>(key.tensor));
  }
  Mesh busy_mesh(const LoweringKey& key, int64_t groups) const;
  bool is_searched(const LoweringKey& key) const { return key.cuts == TensorCuts::searched && !options_.own_plan; }
  const PartialPlan& searched_cuts(const LoweringKey& key);
  const LoweredLayers& lowered_layers(const LoweringKey& key);
  LoweredLayers lower(const LoweringKey& key, const FoldedGraph& folded);

  const NetworkOptions options_;
  const FoldedGraph folded_;
  const std::vector<bool> recomputable_;
  const int64_t batch_;
  TrainingLowering lowering_;
  BusyParts parts_;
  std::optional<double> attention_share_;              // none: not computed yet
  std::map<LoweringKey, std::vector<int64_t>> links_;  // classes of links by `tensor`, `context` and part
  std::map<LoweringKey, PartialPlan> searched_cuts_;
  std::map<LoweringKey, LoweringKey> alike_;
  std::map<LoweringKey, LoweredLayers> layer_cache_;
  std::map<LoweringKey, InvalidArgument> refused_;                         // errors of failed lowerings
  std::map<std::tuple<LoweringKey, int64_t, int64_t>, LayerCosts> costs_;  // by key, groups and rows of a micro-batch
};

}  // namespace partita
