#pragma once
// Prices one network on one cluster under many configurations. It caches what it lowered, so that later prices are
// cheap.

#include "planner/plan_file/plan_file.h"
#include "planner/plan_request.h"
#include "planner/pricing/print_price.h"

namespace partita {

class NetworkPlanner {
 public:
  /// With `cuts`, prices the cuts of a saved plan as they are, without folding repeated layers. Throws InvalidArgument
  /// for an unknown model or cluster, for ranks, rows or memory out of range, and for the graph of a training. Throws
  /// as `open_cluster` and `read_graph` do for files.
  explicit NetworkPlanner(PlanRequest request, std::optional<NamedCuts> cuts = std::nullopt);

  const PlanRequest& request() const { return request_; }
  const Cluster& cluster() const { return cluster_; }
  /// The network to train. Throws InvalidArgument if the request names the file of a graph, which cannot be trained.
  const TrainedNetwork& trained() const;
  bool is_graph() const { return !trained_; }
  std::string name() const;
  int64_t batch() const { return batch_; }
  const Precision& precision() const { return precision_; }
  const Graph& forward() const { return forward_; }
  /// The fingerprint of the network as it is trained: its batch norms take statistics over all rows, while those of
  /// `forward` take them per row. Throws InvalidArgument for a graph.
  NetworkFingerprint fingerprint() const;
  NetworkCosts& costs() { return costs_; }
  double memory() const;  // bytes for tensors of each rank

  /// Prices a completed configuration. For trainings in f32 or f64 on CPU clusters, memory is measured on the compiled
  /// program. Throws InvalidArgument if the network cannot be lowered so.
  PricedPlan priced(const Configuration& configuration);
  PricedPlan priced(const PricedConfiguration& found);
  /// Searches for the fastest configuration that fits, by the memory that `priced` reports. If none fits, the result
  /// has no `best` but `least`, the one that takes the least memory. `runner_up` also keeps the fastest one that
  /// differs from the best in data, context, tensor or pipeline. `any` stops at the first that fits, which need not be
  /// the fastest. Throws InvalidArgument if the pins allow no configuration, or if the network cannot be lowered under
  /// any of them.
  ConfigurationSearch searched(const Pins& pins, bool runner_up = false, bool any = false);

  /// The completed job configuration of a training that runs the plan; for the file of a graph, it is made from
  /// defaults.
  JobConfig job_of_plan(const PricedPlan& plan);
  PlanFile plan_file(const PricedPlan& plan);
  /// Checks the cuts of a plan file, if it has any. Throws InvalidArgument "[FILE:LINE] .." for cuts that its training
  /// would refuse, and for the file of a graph.
  void require_trainable(const PlanFile& plan) const;
  /// Prices a completed configuration with the cuts of a plan file. Repeated layers keep their own cuts, and nodes
  /// that the file does not name are cut as `cuts.others` says. Memory is found as in `priced`. Throws InvalidArgument
  /// if the network cannot be lowered so.
  Price price_of_cuts(const NamedCuts& cuts, const Configuration& configuration) const;
  /// The plan of the folded forward graph on the ranks of one stage.
  Plan folded_plan(const PricedPlan& plan);

 private:
  Graph make_forward() const;
  bool is_placed() const;
  int threads(int64_t ranks) const;
  PricedPlan unplaced(const PricedConfiguration& found) const;
  const std::vector<StageMemory>& placed(const PricedPlan& plan);
  int64_t rows_of_network() const;
  Graph build_network(int64_t statistics_groups) const;

  const PlanRequest request_;
  const std::optional<NamedCuts> cuts_;
  const std::optional<TrainedNetwork> trained_;  // none: the request names the file of a graph
  const Cluster cluster_;
  const Precision precision_;
  const Graph forward_;
  const int64_t batch_;
  NetworkCosts costs_;
  std::map<Configuration, std::vector<StageMemory>> placed_;  // memory of compiled programs
};

/// Whether a plan file under this configuration is priced again by its own cuts. A search over all layers may cut
/// repeated layers in different ways, while prices come from folded layers, whose copies are all cut alike.
bool has_searched_cuts(const Configuration& configuration);

}  // namespace partita
