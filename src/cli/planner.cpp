#include "cli/planner.h"

#include "checkpoint/weights.h"
#include "cli/graph_file.h"
#include "cluster/presets.h"
#include "cluster/toml.h"
#include "job/program.h"
#include "network/build_graph.h"
#include "ops/registry.h"
#include "planning/job_of.h"

namespace partita {
namespace {

/// The part of a cluster that has so many ranks; others are idle.
Cluster cluster_of(const PlannerRequest& request, std::string_view where) {
  const Cluster cluster = open_cluster(request.cluster);
  if (request.ranks == 0) return cluster;
  if (request.ranks <= cluster.ranks() || cluster.cores > 0) return resized(cluster, request.ranks);
  throw InvalidArgument(fmt::format("[{}] more ranks than the cluster has, got {}, expected at most {} of {}", where,
                                    request.ranks, cluster.ranks(), cluster.name));
}

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

void write_whole_file(std::string_view flag, const std::string& path, const std::string& text) {
  try {
    save_text(path, text);
  } catch (const RuntimeFailure& error) {
    throw RuntimeFailure(error.code(), fmt::format("[{}] cannot write {} ({})", flag, path, error.what()));
  }
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
      device_(make_cpu_device(all_ops(), /*threads=*/1)),
      costs_(forward_, all_ops(), device_->catalog(), cluster_,
             {.training = {.optimizer = recipe_.optimizer},
              .precision = precision_,
              .fold = !request_.cuts,
              .search = search_,
              .own_plan = request_.cuts ? plan_of_cuts(*request_.cuts) : nullptr}) {}

Graph Planner::make_forward() const {
  if (model_) {
    // Of batch norms each row has statistics of its own, so that any micro-batch can be priced.
    const int64_t rows = request_.batch > 0 ? request_.batch : recipe_.training.batch;
    return build_graph(model_->network(loss()), all_ops(),
                       {.batch = rows, .columns = model_->columns(), .statistics_groups = rows});
  }
  Graph graph = read_graph(request_.model);
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
  PricedPlan plan = priced(PricedConfiguration{configuration, stages.price(configuration.zero)});
  plan.lower_bound_seconds = stages.lower_bound(configuration.zero);
  return plan;
}

PricedPlan Planner::priced(const PricedConfiguration& found) const {
  return {.model = request_.model,
          .cluster = request_.cluster,
          .software = cluster_.software.name,
          .fitted = fitted_values(cluster_),
          .ranks = cluster_.ranks(),
          .batch = batch_,
          .configuration = found.configuration,
          .price = found.price,
          .stages = found.price.layers.size() > 1 ? stage_names(found.price, costs_.folded(), forward_)
                                                  : std::vector<std::vector<std::string>>()};
}

ConfigurationSearch Planner::searched(const Pins& pins, bool runner_up) {
  return search_configurations(
      {.costs = costs_, .ranks = cluster_.ranks(), .memory_bytes = memory(), .pins = pins, .runner_up = runner_up});
}

JobConfig Planner::job_of_plan(const PricedPlan& plan) {
  JobConfig job = recipe_;
  job.model = request_.model;
  job.training.batch = batch_;
  job.training.loss = loss();
  job.plan.options.search = search_;
  job.plan.options.costs = costs_.plan_options(plan.configuration).costs;
  return completed(job_of(std::move(job), plan.configuration, plan.price, costs_.folded(), forward_),
                   Place{.cores = 1});
}

PlanFile Planner::plan_file(const PricedPlan& plan) {
  const JobConfig job = job_of_plan(plan);
  const Network network = model().network(job.training.loss);
  Program program = make_program(job, {.network = network,
                                       .columns = model_->columns(),
                                       .batch = batch_,
                                       .ranks = plan.configuration.ranks(),
                                       .last = Stage::training});
  // As it was priced, in micro-batches: without outputs that have all rows.
  std::erase_if(program.graph.outputs, [&](const Output& one) { return program.graph.type(one.value).rank() > 0; });
  PlanFile file = plan_file_of({job, plan.configuration, remove_dead_nodes(std::move(program.graph)), all_ops()});
  file.dtype = precision_.compute;
  file.cluster = request_.cluster;
  file.network = fingerprint_of_network(forward_);
  const Price price =
      has_searched_cuts(plan.configuration) ? price_of_cuts(*file.cuts, plan.configuration) : plan.price;
  file.predicted = PredictedStep{.step_seconds = price.step_seconds};
  for (const StageMemory& memory : price.memory) file.predicted->memory_bytes.push_back(memory.total());
  return file;
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
