#pragma once
// The planner: how a training is shared by the ranks of a cluster, what a step costs there, and why. Commands, Python
// and C++ programs call these functions; the cluster need not exist.
//
//   const PlannedJob job = plan({.model = "gpt:layers=24,hidden=2048,heads=16", .cluster = "a100-80:4"});
//   std::cout << print(job.priced);

#include <memory>

#include "planner/explain/page.h"
#include "planner/plan_file/plan_file.h"
#include "planner/plan_request.h"
#include "planner/pricing/print_price.h"

namespace partita {

class NetworkPlanner;

/// A training step on a cluster under one configuration, with its price.
struct PlannedJob {
  PricedPlan priced;
  double memory = 0;                                 // bytes of each device for tensors
  bool fits = true;                                  // whether the step takes at most these
  std::optional<PricedConfiguration> runner_up{};    // the best that shares the ranks otherwise, if it was asked for
  std::optional<PlanFile> file{};                    // that it was read from; none: of a search or a configuration
  std::shared_ptr<NetworkPlanner> planner{};         // of the network on the cluster; for one thread at a time
  std::shared_ptr<NetworkPlanner> edited_planner{};  // the same under the cuts of an edited file; null: not edited
};

/// The configuration that takes the least time and fits, or, if nothing fits, the one that takes the least memory. On
/// processors memory is that of the compiled program. Throws InvalidArgument for a request that allows nothing.
PlannedJob plan(const PlanRequest& request);
/// A configuration as it is; the ranks are its own unless the request has some. Pins are not looked at. Throws
/// InvalidArgument for one that does not divide or cannot be lowered.
PlannedJob price(const PlanRequest& request, const Configuration& configuration);

/// The plan as a text that people edit and that `read_plan_file` reads back. Throws InvalidArgument for a graph.
PlanFile plan_file_of(const PlannedJob& job);
/// The configuration with which `Model` trains under the plan. Throws InvalidArgument for a graph.
JobConfig config_of(const PlannedJob& job);

/// What groups of layers cost and how they are cut; `print_layers` as a table.
std::vector<LayerRow> explain(const PlannedJob& job);
std::string print_layers(const PlannedJob& job);

/// What each cut of one op costs, on a micro-batch of the plan.
struct OpExplanation {
  std::string title, name;                   // of the node as it was asked for
  std::vector<CutAlternative> alternatives;  // the cheapest first; empty where one rank runs all
  bool free = false;                         // whether the other nodes are cut anew for each alternative
};
/// `op`: the name of a node, or a pattern, of which the first counts. Throws InvalidArgument with the nearest name.
OpExplanation explain_op(const PlannedJob& job, const std::string& op, bool free = false);
std::string print(const OpExplanation& explanation);

/// The runner-up and the best of each known way to share a training (known_templates).
std::vector<PageOther> others(const PlannedJob& job);
std::string print_others(const PlannedJob& job);

/// A page of HTML that needs nothing else. `compares`: with the best of each known way and the runner-up.
std::string plan_page(const PlannedJob& job, bool compares = true);

/// A single change after which something fits.
struct Remedy {
  double factor = 1;  // how large the change is: 1 changes no number
  std::string text;   // "--memory 12.5"
};
/// The changes that help where nothing fits under the pins, the smallest first.
std::vector<Remedy> remedies(const PlannedJob& job);
/// "[plan] nothing fits; at the least .. It would fit with --memory 12.5, or with ..".
std::string refusal_of(const PlannedJob& job);
/// Throws InvalidArgument with that text if the job does not fit.
void require_fit(const PlannedJob& job);
/// "[plan] 16 GiB missing on group 0 of 8, got 80 GiB of each device, expected 96 GiB: optimizer 40 GiB, ..".
std::string print_excess(const PlannedJob& job);

/// f32, f64, bf16 or f16. Throws InvalidArgument "[WHERE] ..".
DType parse_planned_dtype(std::string_view where, const std::string& text);

}  // namespace partita
