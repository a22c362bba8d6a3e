#pragma once
// The planner. It decides how the ranks of a cluster share a training, and explains what a step costs. Commands, Python
// and C++ programs call these functions. The cluster need not exist.
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
  double memory = 0;                                 // bytes for tensors on each device
  bool fits = true;                                  // whether the step takes at most `memory`
  std::optional<PricedConfiguration> runner_up{};    // best plan with another assignment of the ranks, on request
  std::optional<PlanFile> file{};                    // file that the plan was read from; none: not from a file
  std::shared_ptr<NetworkPlanner> planner{};         // planner of the network; one thread at a time may use it
  std::shared_ptr<NetworkPlanner> edited_planner{};  // planner under the cuts of an edited file; else null
};

/// Searches for the fastest configuration that fits. If nothing fits, returns the one that takes the least memory, with
/// `fits` false. For trainings in f32 or f64 on CPU clusters, memory is measured on the compiled program. Throws
/// InvalidArgument if the request allows no configuration, and as the constructor of NetworkPlanner does.
PlannedJob plan(const PlanRequest& request);
/// Prices one configuration without a search. If the request has no ranks, the configuration decides how many there
/// are. Pins are ignored. Throws InvalidArgument if the ranks or the batch do not divide, or if the network cannot be
/// lowered so, and as the constructor of NetworkPlanner does.
PlannedJob price(const PlanRequest& request, const Configuration& configuration);

/// The plan as a file that people edit and that `read_plan_file` reads back. For the job of a saved plan, it is that
/// file. Throws InvalidArgument for a graph.
PlanFile plan_file_of(const PlannedJob& job);
/// The job configuration with which `Model` trains under the plan. Throws InvalidArgument for a graph.
JobConfig config_of(const PlannedJob& job);

/// The cost of each group of equal layers, and how it is cut. `print_layers` formats these rows as a table.
std::vector<LayerRow> explain(const PlannedJob& job);
std::string print_layers(const PlannedJob& job);

/// The cost of each cut of one op, for a micro-batch of the plan.
struct OpExplanation {
  std::string title, name;                   // headline; name of the node that was asked for
  std::vector<CutAlternative> alternatives;  // cheapest first; empty if one rank runs everything
  bool free = false;                         // whether each alternative cuts the other nodes anew
};
/// Compares the cuts of one op. `op` is the name of a node or a pattern; the first node that matches counts. With
/// `free`, each alternative may cut the other nodes anew. Throws InvalidArgument with the nearest name if none matches,
/// and for a graph.
OpExplanation explain_op(const PlannedJob& job, const std::string& op, bool free = false);
std::string print(const OpExplanation& explanation);

/// The runner-up, if the job has one, and the best configuration of each known template (`known_templates`) or, if none
/// fits, the one that takes the least memory. A template without a configuration for these ranks is left out.
std::vector<PageOther> others(const PlannedJob& job);
std::string print_others(const PlannedJob& job);

/// A self-contained HTML page about the plan. `compares` adds a table of the `others`. Throws InvalidArgument for a
/// graph.
std::string plan_page(const PlannedJob& job, bool compares = true);

/// A single change of the request after which some configuration fits.
struct Remedy {
  double factor = 1;  // size of the change; 1: no number changes
  std::string text;   // "--memory 12.5"
};
/// Remedies for a job that does not fit, smallest change first: a pin to drop, more memory, more nodes, or a
/// smaller batch. That of memory is always among them.
std::vector<Remedy> remedies(const PlannedJob& job);
/// The message for a job that does not fit: "[plan] nothing fits; at best .. It would fit with --memory 12.5, or
/// with ..".
std::string refusal_of(const PlannedJob& job);
/// Checks that the job fits. Throws InvalidArgument with the text of `refusal_of` if it does not.
void require_fit(const PlannedJob& job);
/// The missing memory of the largest group of ranks, and what it consists of: "[plan] 16 GiB missing on group 0 of 8,
/// got 80 GiB of each device, expected 96 GiB: optimizer 40 GiB, ..". The job must not fit.
std::string print_excess(const PlannedJob& job);

/// Parses "f32", "f64", "bf16" or "f16". Throws InvalidArgument "[WHERE] .." for another text.
DType parse_planned_dtype(std::string_view where, const std::string& text);

}  // namespace partita
