#include "planner/planner.h"

#include <chrono>

#include "compiler/search/named_cuts.h"
#include "ir/ops/registry.h"
#include "planner/network_planner.h"
#include "planner/op_costs.h"
#include "planner/pricing/layers/quantities.h"

namespace partita {
namespace {

constexpr size_t kShownAlternatives = 12;

/// Checks the pins. Throws InvalidArgument if they contradict each other, if together they need more ranks than the
/// cluster has, or if the pinned numbers do not divide the batch.
void require_possible(const Pins& pins, const NetworkPlanner& planner) {
  Configuration least{.data = pins.data.value_or(1),
                      .context = pins.context.value_or(1),
                      .tensor = pins.tensor.value_or(1),
                      .pipeline = pins.pipeline.value_or(1),
                      .micro_batch = pins.micro_batch.value_or(0)};
  if (least.ranks() > planner.cluster().ranks()) {
    throw InvalidArgument(
        "[--pin] more ranks than the cluster has, got data {} x context {} x tensor {} x pipeline {} = {}, expected at "
        "most {} of {}",
        least.data, least.context, least.tensor, least.pipeline, least.ranks(), planner.cluster().ranks(),
        planner.request().cluster);
  }
  least.sequence_parallel = pins.sequence_parallel.value_or(false);
  least.interleave = pins.interleave.value_or(1);
  least.squeeze = pins.squeeze.value_or(0);
  least.links = pins.links.value_or(0);
  least.cuts = pins.cuts.value_or(least.squeeze + least.links > 0 ? TensorCuts::searched : TensorCuts::blocks);
  if ((least.sequence_parallel || least.cuts == TensorCuts::searched) && !pins.tensor) least.tensor = 2;
  if (least.interleave > 1 && !pins.pipeline) least.pipeline = 2;
  completed(least, least.ranks(), planner.batch(), "--pin", planner.cluster().ranks());
}

/// Measures the time of a search since its construction.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Returns the planner that made the price of a job: that of the edited cuts if there is one, else that of the network.
NetworkPlanner& pricer_of(const PlannedJob& job) { return job.edited_planner ? *job.edited_planner : *job.planner; }

}  // namespace

PlannedJob plan(const PlanRequest& request) {
  const Stopwatch watch;
  PlannedJob job{.planner = std::make_shared<NetworkPlanner>(request)};
  NetworkPlanner& planner = *job.planner;
  require_possible(request.pins, planner);
  ConfigurationSearch search = planner.searched(request.pins, request.runner_up);
  job.priced = planner.priced(search.best ? *search.best : *search.least);
  job.priced.lower_bound_seconds = search.lower_bound_seconds;
  job.priced.searched = search.searched;
  job.priced.search_seconds = watch.seconds();
  job.memory = planner.memory();
  job.fits = search.best.has_value();
  job.runner_up = std::move(search.runner_up);
  return job;
}

PlannedJob price(const PlanRequest& request, const Configuration& configuration) {
  const Stopwatch watch;
  PlanRequest own = request;
  if (own.ranks == 0) own.ranks = configuration.ranks();
  PlannedJob job{.planner = std::make_shared<NetworkPlanner>(own)};
  NetworkPlanner& planner = *job.planner;
  const int64_t most = request.ranks == 0 ? max_ranks(planner.whole_cluster()) : own.ranks;
  job.priced = planner.priced(completed(configuration, own.ranks, planner.batch(), own.where, most));
  job.priced.search_seconds = watch.seconds();
  job.memory = planner.memory();
  job.fits = job.priced.fullest() <= job.memory;
  return job;
}

PlanFile plan_file_of(const PlannedJob& job) {
  PlanFile file = job.file ? *job.file : job.planner->plan_file(job.priced);
  if (!file.cuts) file.cuts = job.planner->plan_file(job.priced).cuts;
  return file;
}

JobConfig config_of(const PlannedJob& job) {
  JobConfig config = job.planner->trained().config;
  const PlanFile file = plan_file_of(job);
  if (file.dtype == DType::f32 || file.dtype == DType::f64) config.training.dtype = file.dtype;
  return with_plan(std::move(config), file);
}

std::vector<LayerRow> explain(const PlannedJob& job) {
  NetworkPlanner& planner = pricer_of(job);
  const Graph& folded = planner.costs().folded().graph;
  const Plan cuts = job.file && job.file->cuts ? plan_of(*job.file->cuts, folded, all_ops(), /*any_purpose=*/true)
                                               : planner.folded_plan(job.priced);
  return layer_table(planner.costs(), job.priced.configuration, job.priced.price.layers, cuts, Rules(folded, all_ops()),
                     planner.precision());
}

std::string print_layers(const PlannedJob& job) {
  return print(explain(job), job.priced.configuration, job.priced.batch);
}

OpExplanation explain_op(const PlannedJob& job, const std::string& op, bool free) {
  const PlanFile file = job.file ? *job.file : job.planner->plan_file(job.priced);
  const OpCosts costs(file, *job.planner);
  const size_t node = costs.node_named(op);
  return {.title = costs.title(node),
          .name = costs.whole_name(op),
          .alternatives = costs.alternatives(node, free, kShownAlternatives),
          .free = free};
}

std::string print(const OpExplanation& explanation) {
  const bool none = explanation.alternatives.empty();
  std::string text = explanation.title + "\n";
  if (explanation.free && !none) {
    text += "(the cuts of all other nodes are chosen anew, also for the plan's cut: times are not those of the plan)\n";
  }
  return text +
         (none ? "one rank runs everything\n" : print(explanation.alternatives, explanation.name, kShownAlternatives));
}

std::vector<PageOther> others(const PlannedJob& job) {
  std::vector<PageOther> result;
  const auto add = [&](const std::string& name, const PricedConfiguration& other, bool fits) {
    result.push_back({name, other.configuration, other.price.step_seconds, other.price.peak_memory(), fits});
  };
  if (job.runner_up) add("runner-up", *job.runner_up, true);
  for (const KnownTemplate& known : known_templates()) {
    try {
      const ConfigurationSearch search = job.planner->searched(known.pins);
      add(known.name, search.best ? *search.best : *search.least, search.best.has_value());
    } catch (const InvalidArgument&) {  // no configuration of these ranks is of this kind
    }
  }
  return result;
}

std::string print_others(const PlannedJob& job) {
  std::string text;
  for (const PageOther& other : others(job)) {
    text += other.fits
                ? fmt::format("{:<22} {:>12}, {:+.1f} %: {}\n", other.name, print_seconds(other.seconds),
                              100 * (other.seconds / job.priced.price.step_seconds - 1), print(other.configuration))
                : fmt::format("{:<22} does not fit: {}\n", other.name, print_memory(other.memory));
  }
  return text;
}

DType parse_planned_dtype(std::string_view where, const std::string& text) {
  constexpr std::array kFloats{DType::f32, DType::f64, DType::bf16, DType::f16};
  std::vector<std::string> names;
  for (const DType dtype : kFloats) names.emplace_back(name_of(dtype));
  return kFloats[position_of_name(where, text, names)];
}

}  // namespace partita
