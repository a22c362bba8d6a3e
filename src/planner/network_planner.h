#pragma once
// One network on one cluster, priced under many configurations. Keeps what it lowered, so that the next price is cheap.

#include "planner/plan_file/plan_file.h"
#include "planner/plan_request.h"
#include "planner/pricing/print_price.h"

namespace partita {

class NetworkPlanner {
 public:
  /// `cuts`: of a saved plan, priced as they are; no layers are folded then. Throws InvalidArgument for a network or a
  /// cluster that there is not, and for ranks, rows or memory out of range.
  explicit NetworkPlanner(PlanRequest request, std::optional<NamedCuts> cuts = std::nullopt);

  const PlanRequest& request() const { return request_; }
  const Cluster& cluster() const { return cluster_; }
  /// Throws InvalidArgument if the request has the file of a graph, which cannot be trained.
  const TrainedNetwork& trained() const;
  bool is_graph() const { return !trained_; }
  std::string name() const;
  int64_t batch() const { return batch_; }
  const Precision& precision() const { return precision_; }
  const Graph& forward() const { return forward_; }
  /// Of the network that is trained. Its batch norms have statistics of all rows, those of `forward` of each row.
  NetworkFingerprint fingerprint() const;
  NetworkCosts& costs() { return costs_; }
  double memory() const;  // bytes of each device

  /// Prices a completed configuration.
  PricedPlan priced(const Configuration& configuration);
  PricedPlan priced(const PricedConfiguration& found);
  /// The best configuration that fits. On processors its compiled program fits. `any`: only whether something fits.
  ConfigurationSearch searched(const Pins& pins, bool runner_up = false, bool any = false);

  /// The configuration of a training that runs the plan.
  JobConfig job_of_plan(const PricedPlan& plan);
  PlanFile plan_file(const PricedPlan& plan);
  /// Throws InvalidArgument "[FILE:LINE] .." for cuts that the training of the plan would refuse.
  void require_trainable(const PlanFile& plan) const;
  Price price_of_cuts(const NamedCuts& cuts, const Configuration& configuration) const;
  /// The plan of the folded forward graph under a configuration, on the ranks of a stage.
  Plan folded_plan(const PricedPlan& plan);

 private:
  Graph make_forward() const;
  bool is_placed() const;
  int threads(int64_t ranks) const;
  PricedPlan unplaced(const PricedConfiguration& found) const;
  std::vector<StageMemory> placed(const PricedPlan& plan);
  int64_t rows_of_network() const;
  Graph build_network(int64_t statistics_groups) const;

  const PlanRequest request_;
  const std::optional<NamedCuts> cuts_;
  const std::optional<TrainedNetwork> trained_;  // none: a graph alone
  const Cluster cluster_;
  const Precision precision_;
  const Graph forward_;
  const int64_t batch_;
  NetworkCosts costs_;
};

/// Whether the cuts of a plan file are priced again: a search over all layers may cut repeated layers in turns, while
/// prices are made of folded layers, which are cut alike.
bool has_searched_cuts(const Configuration& configuration);

}  // namespace partita
