#pragma once
// Prices one network on one cluster under many configurations. It caches what it lowered, so that later prices are
// cheap.

#include "planner/compiled/chip_compiler.h"
#include "planner/plan_file/plan_file.h"
#include "planner/plan_request.h"
#include "planner/pricing/search/print_price.h"

namespace partita {

class NetworkPlanner {
 public:
  /// Opens the cluster, and builds the network or reads its graph. With `cuts`, prices the cuts of a saved plan as they
  /// are, without folding repeated layers. `opened` is the cluster of the request if that is open already, as
  /// `whole_cluster` of another planner. Throws InvalidArgument for an unknown model or cluster, for a network that
  /// cannot be built, for ranks, rows or memory out of range, and for a graph that is malformed, is a training, has no
  /// batch, or has another batch than the request. Throws MissingFile or InvalidFile if the file of a cluster or a
  /// graph cannot be read, is too large or, for a cluster, malformed.
  explicit NetworkPlanner(PlanRequest request, std::optional<NamedCuts> cuts = std::nullopt,
                          const Cluster* opened = nullptr);

  const PlanRequest& request() const { return request_; }
  const Cluster& cluster() const { return cluster_; }
  /// The cluster as it was opened, with all its ranks.
  const Cluster& whole_cluster() const { return whole_cluster_; }
  /// The network to train. Throws InvalidArgument if the request names the file of a graph, which cannot be trained.
  const TrainedNetwork& trained() const;
  bool is_graph() const { return !trained_; }
  std::string name() const;
  int64_t batch() const { return batch_; }
  const Precision& precision() const { return precision_; }
  const Graph& forward() const { return forward_; }
  /// Returns the fingerprint of the network as it is trained: its batch norms take statistics over all rows, while
  /// those of `forward` take them per row. Throws InvalidArgument if the request names the file of a graph.
  NetworkFingerprint fingerprint() const;
  NetworkCosts& costs() { return costs_; }
  double memory() const;  // bytes for tensors of each rank

  /// Prices a completed configuration, and finds a lower bound of its step. For trainings in f32 or f64 on CPU
  /// clusters, memory is measured on the compiled program, else it is estimated. Throws InvalidArgument if it needs
  /// more ranks than the cluster has, the network cannot be lowered so, or the order of the pipeline is too long
  /// (`make_sequence`). Where memory is measured, also throws InvalidArgument for a configuration of the network that a
  /// training refuses, LauncherErrors and ThreadFailures.
  PricedPlan priced(const Configuration& configuration);
  /// Returns the plan of a configuration that is already priced, with the names of its layers and notes, but without a
  /// lower bound. Memory is measured or estimated as by the other overload; only measuring it throws, with the same
  /// errors.
  PricedPlan priced(const PricedConfiguration& found);
  /// Searches for the fastest configuration that fits, by the memory that `priced` reports, or that of its compiled
  /// programs if the request says so. If none fits, the result has no `best` but `least`, the one that needs the least
  /// memory. `runner_up` also keeps the fastest one that differs from the best in data, context, tensor or pipeline and
  /// fits by its estimated memory. `any` stops at the first that fits, which need not be the fastest. Throws
  /// InvalidArgument if the pins allow no configuration, ask for searched cuts although the search is propagation, or
  /// if the network cannot be lowered under any of them. Throws as `priced` does.
  ConfigurationSearch searched(const Pins& pins, bool runner_up = false, bool any = false);

  /// Returns the completed job configuration of a training that runs the plan; for the file of a graph, it is made from
  /// defaults. Throws InvalidArgument if the configuration of the network has a value that `completed` refuses.
  JobConfig job_of_plan(const PricedPlan& plan);
  PlanFile plan_file(const PricedPlan& plan);
  /// Checks the cuts of a plan file; does nothing if it has none. Throws InvalidArgument "[FILE:LINE] .." for cuts that
  /// its training would refuse. Throws InvalidArgument if the network does not have its stages or recomputed layers,
  /// for another network or a bad configuration, and for the file of a graph. Throws RuntimeFailure(cannot_write) if a
  /// dump fails, and ThreadFailures.
  void require_trainable(const PlanFile& plan) const;
  /// Prices a completed configuration with the cuts of a plan file. Repeated layers keep their own cuts, and nodes that
  /// the file does not name are cut as `cuts.others` says. Memory is found as in `priced`. Throws as the constructor
  /// and `priced` do.
  Price price_of_cuts(const NamedCuts& cuts, const Configuration& configuration) const;
  /// Makes the plan of the folded forward graph on the ranks of one stage, from the values of the configuration alone,
  /// not from cuts of a saved plan. Throws InvalidArgument if the network cannot be cut so, and as `job_of_plan` does.
  Plan folded_plan(const PricedPlan& plan);

 private:
  Graph make_forward() const;
  bool is_placed() const;
  int threads(int64_t ranks) const;
  PricedPlan unplaced(const PricedConfiguration& found);
  Program program_of(const PricedPlan& plan, JobConfig job);
  CompiledMemory compiled(const PricedPlan& plan);
  CompiledMemory compiled_by_plugin(const PricedPlan& plan, size_t group);
  const std::vector<StageMemory>& placed(const PricedPlan& plan);
  int64_t rows_of_network() const;
  Graph build_network(int64_t statistics_groups) const;

  const PlanRequest request_;
  const std::optional<NamedCuts> cuts_;
  const std::optional<TrainedNetwork> trained_;  // none: the request names the file of a graph
  const Cluster whole_cluster_, cluster_;
  const Precision precision_;
  const Graph forward_;
  const int64_t batch_;
  NetworkCosts costs_;
  std::map<Configuration, std::vector<StageMemory>> placed_;  // memory of compiled programs
  std::unique_ptr<const ChipCompiler> compiler_;              // made when it is first used
  std::map<Configuration, CompiledMemory> compiled_;
};

/// Whether the configuration has searched cuts over several ranks of `tensor`. A plan file under it is priced again by
/// its own cuts: a search over all layers may cut repeated layers in different ways, while prices come from folded
/// layers, whose copies are all cut alike.
bool has_searched_cuts(const Configuration& configuration);

}  // namespace partita
