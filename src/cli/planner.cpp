#include "cli/planner.h"

#include "cli/graph_file.h"
#include "cluster/presets.h"
#include "cluster/toml.h"
#include "job/program.h"
#include "launch/place.h"
#include "network/build_graph.h"
#include "ops/registry.h"
#include "planning/job_of.h"
#include "planning/placed_memory.h"
#include "planning/price_notes.h"
#include "planning/simulate_step.h"

namespace partita {
namespace {

/// The part of a cluster that has so many ranks; others are idle.
Cluster cluster_of(const PlannerRequest& request, std::string_view where) {
  Cluster cluster = open_cluster(request.cluster);
  if (!request.tf32) cluster = without_tf32(std::move(cluster));
  if (request.ranks == 0) return cluster;
  if (request.ranks <= cluster.ranks() || cluster.cores > 0) return resized(cluster, request.ranks);
  throw InvalidArgument(fmt::format("[{}] more ranks than the cluster has, got {}, expected at most {} of {}", where,
                                    request.ranks, cluster.ranks(), cluster.name));
}

constexpr double kLess = 1 - 1e-6;

/// Of the ranks that share the same rows.
std::function<Plan(const Graph&, int64_t)> plan_of_cuts(const NamedCuts& cuts) {
  return [own = without_axis(cuts, "data")](const Graph& graph, int64_t) {
    return plan_of(own, graph, all_ops(), /*any_purpose=*/true);
  };
}

}  // namespace

bool has_searched_cuts(const Configuration& configuration) {
  return configuration.tensor > 1 && configuration.cuts == TensorCuts::searched;
}

DType dtype_of_flag(const std::string& text) {
  constexpr std::array kFloats{DType::f32, DType::f64, DType::bf16, DType::f16};
  std::vector<std::string> names;
  for (const DType dtype : kFloats) names.emplace_back(name_of(dtype));
  return kFloats[position_of_name("--dtype", text, names)];
}

Planner::Planner(PlannerRequest request, std::string_view where)
    : request_(std::move(request)),
      search_(parse_name<Search>("--search", request_.search)),
      model_(is_graph_file(request_.model) ? std::nullopt : std::optional(make_model(request_.model))),
      recipe_(model_ ? model_->recipe : JobConfig{}),
      cluster_(cluster_of(request_, where)),
      precision_(Precision::of(dtype_of_flag(request_.dtype))),
      forward_(make_forward()),
      batch_(rows_of(forward_)),
      costs_(forward_, all_ops(), cluster_,
             {.training = {.optimizer = recipe_.optimizer},
              .precision = precision_,
              .fold = !request_.cuts,
              .search = search_,
              .own_plan = request_.cuts ? plan_of_cuts(*request_.cuts) : nullptr}) {}

int64_t Planner::rows_of_model() const { return request_.batch > 0 ? request_.batch : recipe_.training.batch; }

Graph Planner::build_model(int64_t statistics_groups) const {
  return build_graph(model().network(loss()), all_ops(),
                     {.batch = rows_of_model(), .columns = model_->columns(), .statistics_groups = statistics_groups});
}

NetworkFingerprint Planner::fingerprint() const { return fingerprint_of_network(build_model(/*statistics_groups=*/1)); }

Graph Planner::make_forward() const {
  // Of batch norms each row has statistics of its own, so that any micro-batch can be priced.
  if (model_) return build_model(rows_of_model());
  Graph graph = read_graph(request_.model);
  for (const Node& node : graph.nodes) {
    if (node.phase == Phase::forward) continue;
    throw InvalidArgument(fmt::format("[plan] the graph of a training, got {} with {} nodes, expected a forward graph",
                                      request_.model, name_of(node.phase)));
  }
  if (request_.batch > 0 && request_.batch != rows_of(graph)) {
    throw InvalidArgument(fmt::format("[--batch] the graph has rows of its own, got {}, expected {}, or no --batch",
                                      request_.batch, rows_of(graph)));
  }
  return graph;
}

const ZooModel& Planner::model() const {
  if (model_) return *model_;
  throw InvalidArgument(fmt::format(
      "[plan] a graph is no network that can be trained, got {}, expected a model for --out, --html and explain",
      request_.model));
}

double Planner::memory() const {
  if (request_.memory > 0) return request_.memory;
  const double shared = cluster_.cores > 0 ? static_cast<double>(cluster_.levels.front().size) : 1;  // of a host
  return cluster_.device.memory / shared - cluster_.reserve_memory;
}

PricedPlan Planner::priced(const Configuration& configuration) {
  StagePrices& stages = costs_.stages(configuration);
  PricedPlan plan = priced(PricedConfiguration{configuration, price_of(stages, configuration.zero)});
  plan.lower_bound_seconds = stages.lower_bound(configuration.zero);
  return plan;
}

PricedPlan Planner::priced(const PricedConfiguration& found) {
  PricedPlan plan = unplaced(found);
  if (!is_placed()) return plan;
  plan.price.memory = placed(plan);
  plan.price.single_layers.clear();  // an arena does not say it
  return plan;
}

PricedPlan Planner::unplaced(const PricedConfiguration& found) const {
  return {.model = request_.model,
          .cluster = request_.cluster,
          .software = cluster_.software.name,
          .fitted = fitted_values(cluster_),
          .ranks = cluster_.ranks(),
          .batch = batch_,
          .configuration = found.configuration,
          .price = found.price,
          .stages = found.price.layers.size() > 1 ? stage_names(found.price, costs_.folded(), forward_)
                                                  : std::vector<std::vector<std::string>>(),
          .recomputed = recomputed_names(found.price, costs_.folded(), forward_, all_ops()),
          .notes = price_notes(cluster_, precision_, found.configuration, found.price)};
}

/// Ranks that are processors run the kernels that are at hand: what their program takes is placed, not estimated.
bool Planner::is_placed() const {
  const bool can_run = precision_.compute == DType::f32 || precision_.compute == DType::f64;
  return cluster_.cores > 0 && model_ && can_run;
}

/// Compute threads of each of so many ranks: its share of the cluster's cores, no more than there are here, where
/// kernels are asked what scratch they take.
int Planner::threads(int64_t ranks) const {
  const Place here = this_place();
  const int64_t cores = std::min<int64_t>(cluster_.cores, here.cores);
  const int64_t sharers = resized(cluster_, ranks).levels.front().size;
  return static_cast<int>(std::clamp<int64_t>(cores / sharers, 1, here.team_threads));
}

std::vector<StageMemory> Planner::placed(const PricedPlan& plan) {
  JobConfig job = job_of_plan(plan);
  job.training.dtype = precision_.compute;
  job.ranks.threads = threads(plan.configuration.ranks());
  if (request_.cuts) job.plan.given = GivenPlan{.file = request_.cuts->file, .cuts = request_.cuts};
  return placed_memory(make_program(job, {.network = model().network(job.training.loss),
                                          .columns = model_->columns(),
                                          .batch = batch_,
                                          .ranks = plan.configuration.ranks(),
                                          .estimates = true}));
}

/// A search goes by estimates: where these are short of what the program takes it is asked for what takes less, and
/// what takes least may fit although its estimate does not.
ConfigurationSearch Planner::searched(const Pins& pins, bool runner_up) {
  SearchRequest request{.costs = costs_,
                        .ranks = cluster_.ranks(),
                        .memory_bytes = memory(),
                        .pins = pins,
                        .runner_up = runner_up,
                        .idle = request_.idle,
                        .any = request_.any};
  double bound = std::numeric_limits<double>::infinity();  // of the first search: the others leave out what may fit
  for (;;) {
    ConfigurationSearch search = search_configurations(request);
    if (!is_placed()) return search;
    bound = std::min(bound, search.lower_bound_seconds);
    search.lower_bound_seconds = bound;
    const PricedConfiguration& found = search.best ? *search.best : *search.least;
    const double estimated = found.price.peak_memory(), bytes = priced(found).price.peak_memory();
    if (!search.best && bytes <= memory()) search.best = search.least;
    if (!search.best || bytes <= memory()) return search;
    request.memory_bytes = std::min(estimated * kLess, memory() * estimated / bytes);
  }
}

JobConfig Planner::job_of_plan(const PricedPlan& plan) {
  JobConfig job = recipe_;
  job.model = request_.model;
  job.training.batch = batch_;
  job.training.loss = loss();
  job.plan.options.search = search_;
  job.plan.options.costs = costs_.plan_options(plan.configuration).costs;
  return completed(job_of(std::move(job), plan.configuration, plan.price, costs_.folded(), forward_, all_ops()),
                   Place{.cores = 1});
}

PlanFile Planner::plan_file(const PricedPlan& plan) {
  const JobConfig job = job_of_plan(plan);
  const Network network = model().network(job.training.loss);
  Program program = make_program(job, {.network = network,
                                       .columns = model_->columns(),
                                       .batch = batch_,
                                       .ranks = plan.configuration.ranks(),
                                       .last = Stage::training,
                                       .estimates = true});
  // As it was priced, in micro-batches.
  PlanFile file = plan_file_of({job, plan.configuration, with_scalar_outputs(std::move(program.graph)), all_ops()});
  file.dtype = precision_.compute;
  file.cluster = request_.cluster;
  file.network = fingerprint();
  const Price price =
      has_searched_cuts(plan.configuration) ? price_of_cuts(*file.cuts, plan.configuration) : plan.price;
  file.predicted = PredictedStep{.step_seconds = price.step_seconds};
  for (const StageMemory& memory : price.memory) file.predicted->memory_bytes.push_back(memory.total());
  return file;
}

void Planner::require_trainable(const PlanFile& plan) const {
  if (!plan.cuts) return;
  const JobConfig job = completed(with_plan(recipe_, plan), Place{.cores = 1});
  const Program program = make_program(job, {.network = model().network(job.training.loss),
                                             .columns = model_->columns(),
                                             .batch = plan.batch,
                                             .ranks = plan.ranks,
                                             .last = Stage::training});
  partial_plan_of(*plan.cuts, program.graph, Rules(program.graph, all_ops()));
}

Price Planner::price_of_cuts(const NamedCuts& cuts, const Configuration& configuration) const {
  PlannerRequest own = request_;
  own.cuts = cuts;
  return Planner(own).priced(configuration).price;
}

Plan Planner::folded_plan(const PricedPlan& plan) {
  const PlanOptions options = job_of_plan(plan).plan.options;
  const Graph& graph = costs_.folded().graph;
  const int64_t ranks = plan.configuration.ranks() / plan.configuration.pipeline;
  return make_plan(graph, all_ops(), make_mesh(graph, ranks, options), options);
}

}  // namespace partita
