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
#include "planner/pricing/search/print_price.h"

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

/// Searches for the fastest configuration that fits. If nothing fits, returns the one that needs the least memory, with
/// `fits` false. For trainings in f32 or f64 on CPU clusters, memory is measured on the compiled program. Throws
/// InvalidArgument for an unknown model or cluster, a network that cannot be built, and ranks, rows or memory out of
/// range. Throws InvalidArgument if the pins contradict each other or allow no configuration, or if the network can be
/// lowered under none of them. Throws MissingFile or InvalidFile for the file of a cluster or a graph. Where memory is
/// measured, throws these three for a launcher's variables and rank table, and ThreadFailures.
PlannedJob plan(const PlanRequest& request);
/// Completes and prices one configuration without a search; `fits` says whether it fits. If the request has no ranks,
/// the configuration decides how many there are. Pins are ignored. Throws InvalidArgument if the configuration does not
/// use exactly the ranks of the request, contradicts itself or does not divide the batch, if the network cannot be
/// lowered so, and for a bad request. Throws other errors as `plan` does.
PlannedJob price(const PlanRequest& request, const Configuration& configuration);

/// Returns the plan as a file that people edit and that `read_plan_file` reads back. For the job of a saved plan, it is
/// that file, with the cuts of the configuration if it has none. Throws InvalidArgument for a job from the file of a
/// graph, and for a configuration of the network that a training refuses. Searched cuts are priced again; where memory
/// is measured, this throws MissingFile or InvalidFile for a launcher's rank table. Throws RuntimeFailure(cannot_write)
/// if a dump fails, and ThreadFailures.
PlanFile plan_file_of(const PlannedJob& job);
/// Returns the job configuration with which `Model` trains under the plan, in the type of the plan if that is f32 or
/// f64, else in the type of the network's configuration. Throws as `plan_file_of` does.
JobConfig config_of(const PlannedJob& job);

/// Returns the cost of each group of equal layers, and how it is cut, in the order of the network. `print_layers`
/// formats these rows as a table. Throws InvalidArgument if the configuration of the request's own network has a value
/// that a training refuses.
std::vector<LayerRow> explain(const PlannedJob& job);
std::string print_layers(const PlannedJob& job);

/// The cost of each cut of one op, for a micro-batch of the plan.
struct OpExplanation {
  std::string title, name;                   // headline; name of the node that was asked for
  std::vector<CutAlternative> alternatives;  // cheapest first; empty if one rank runs everything
  bool free = false;                         // whether each alternative cuts the other nodes anew
};
/// Compares the cuts of one op for the plan of a job. `op` is the name of a node or a pattern; the first node that
/// matches counts. With `free`, each alternative may cut the other nodes anew. Throws InvalidArgument with the nearest
/// name if none matches, and as `plan_file_of` does.
OpExplanation explain_op(const PlannedJob& job, const std::string& op, bool free = false);
std::string print(const OpExplanation& explanation);

/// Returns the runner-up, if the job has one, and for each known template (`known_templates`) the fastest configuration
/// that fits or, if none does, the one that needs the least memory, with `fits` false. Searches anew. A template that
/// is refused with InvalidArgument, such as one under which no configuration of these ranks is possible, is left out.
/// Throws other errors as `plan` does.
std::vector<PageOther> others(const PlannedJob& job);
std::string print_others(const PlannedJob& job);

/// Returns a self-contained HTML page about the plan. `compares` adds a table of the `others`. Throws InvalidArgument
/// for a job from the file of a graph, and as `plan_file_of` and, with `compares`, `others` do.
std::string plan_page(const PlannedJob& job, bool compares = true);

/// A single change of the request after which some configuration fits.
struct Remedy {
  double factor = 1;  // size of the change; 1: no number changes
  std::string text;   // "--memory 12.5"
};
/// Searches for remedies for a job that does not fit, and returns them with the smallest change first: a single pin to
/// drop, more memory, 2, 4, .. or 32 times as many nodes, or a batch of 1/2, 1/4, .. or 1/32 of the rows, as far as
/// these are whole numbers. More memory is always among them; nodes are not if the cluster is a file or the request
/// names its ranks, a batch is not for the file of a graph. If programs were compiled to check the memory, more memory
/// is the only one, since each other change would compile anew. Changes that are refused with InvalidArgument are left
/// out. Throws other errors as `plan` does.
std::vector<Remedy> remedies(const PlannedJob& job);
/// Returns the message for a job that does not fit, with its `remedies`: "[plan] nothing fits; at best .. It would fit
/// with --memory 12.5, or with ..". Throws as `remedies` does.
std::string refusal_of(const PlannedJob& job);
/// Checks that the job fits. Throws InvalidArgument with the text of `refusal_of` if it does not; making the text
/// throws as `remedies` does.
void require_fit(const PlannedJob& job);
/// Returns the missing memory of the group of ranks that takes most, what its memory consists of, and the
/// configuration: "[plan] 16 GiB missing on group 0 of 8, got 80 GiB of each device, expected 96 GiB: optimizer 40 GiB,
/// .. under data=8". The job must not fit.
std::string print_excess(const PlannedJob& job);

/// Parses "f32", "f64", "bf16" or "f16". Throws InvalidArgument "[WHERE] .." for another text.
DType parse_planned_dtype(std::string_view where, const std::string& text);

}  // namespace partita
