#pragma once
// A model of the zoo on a cluster, priced under configurations: what the commands about plans share.

#include "planning/plan_file.h"
#include "planning/print_price.h"
#include "planning/search_configurations.h"
#include "zoo/zoo.h"

namespace partita {

struct PlannerRequest {
  /// Of the zoo, or the text of a forward graph in a file, "graph.txt".
  std::string model, cluster = "cpu", dtype = "f32", search = "exact";
  int64_t batch = 0;                // rows of the global batch; 0: the model's
  double memory = 0;                // bytes of each device for tensors; 0: the cluster's, less its reserve
  int64_t ranks = 0;                // the part of the cluster that has so many; 0: all of it
  bool idle = true;                 // whether a search may leave ranks without work
  bool any = false;                 // whether it is enough that something fits
  bool tf32 = true;                 // whether products of f32 may be TF32, where devices have that
  std::optional<Loss> loss{};       // none: the model's
  std::optional<NamedCuts> cuts{};  // of a saved plan, priced as they are; no layers are folded then
};

class Planner {
 public:
  /// Throws InvalidArgument for what is not to be had; "[WHERE] .." for more ranks than there are.
  explicit Planner(PlannerRequest request, std::string_view where = "--fixed");

  const PlannerRequest& request() const { return request_; }
  const Cluster& cluster() const { return cluster_; }
  /// Throws InvalidArgument when there is a graph alone.
  const ZooModel& model() const;
  bool is_graph() const { return !model_; }
  int64_t batch() const { return batch_; }
  const Precision& precision() const { return precision_; }
  const Graph& forward() const { return forward_; }
  /// Of the network that is trained. Its batch norms have statistics of all rows, those of `forward` of each.
  NetworkFingerprint fingerprint() const;
  NetworkCosts& costs() { return costs_; }
  double memory() const;  // bytes of each device

  /// A completed configuration.
  PricedPlan priced(const Configuration& configuration);
  PricedPlan priced(const PricedConfiguration& found);
  /// The best of what fits; on processors its program does.
  ConfigurationSearch searched(const Pins& pins, bool runner_up = false);

  /// What a training runs that has the plan.
  JobConfig job_of_plan(const PricedPlan& plan);
  PlanFile plan_file(const PricedPlan& plan);
  /// Throws InvalidArgument "[FILE:LINE] .." for cuts that the training of the plan would refuse.
  void require_trainable(const PlanFile& plan) const;
  Price price_of_cuts(const NamedCuts& cuts, const Configuration& configuration) const;
  /// The plan of the folded forward graph under a configuration, on the ranks of a stage.
  Plan folded_plan(const PricedPlan& plan);

 private:
  Loss loss() const { return request_.loss.value_or(recipe_.training.loss); }
  Graph make_forward() const;
  bool is_placed() const;
  int threads(int64_t ranks) const;
  PricedPlan unplaced(const PricedConfiguration& found) const;
  std::vector<StageMemory> placed(const PricedPlan& plan);
  int64_t rows_of_model() const;
  Graph build_model(int64_t statistics_groups) const;

  const PlannerRequest request_;
  const Search search_;
  const std::optional<ZooModel> model_;  // none: a graph alone
  const JobConfig recipe_;
  const Cluster cluster_;
  const Precision precision_;
  const Graph forward_;
  const int64_t batch_;
  NetworkCosts costs_;
};

/// A search over all layers may cut those that are repeated in turns; over the folded ones, of which prices are made,
/// it cuts them alike. Its plan is priced again.
bool has_searched_cuts(const Configuration& configuration);

/// f32, f64, bf16 or f16.
DType dtype_of_flag(const std::string& text);

}  // namespace partita
