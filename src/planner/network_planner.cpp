#include "planner/network_planner.h"

#include "compiler/search/named_cuts.h"
#include "ir/ops/registry.h"
#include "job/program.h"
#include "planner/cluster/presets.h"
#include "planner/cluster/toml.h"
#include "planner/compiled/largest_group.h"
#include "planner/graph_file.h"
#include "planner/pricing/search/job_of.h"
#include "planner/pricing/search/price_notes.h"
#include "planner/pricing/step/placed_memory.h"
#include "runtime/launch/place.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

void require_ranges(const PlanRequest& request) {
  if (request.batch < 0) {
    throw InvalidArgument("[{}] bad batch, got {}, expected rows above 0, or 0 for the network's own", request.where,
                          request.batch);
  }
  if (!(request.memory >= 0 && request.memory <= kMaxMemory)) {
    throw InvalidArgument("[{}] bad memory, got {}, expected bytes above 0, at most {:g}, or 0 for the cluster's own",
                          request.where, request.memory, kMaxMemory);
  }
}

/// Checks that programs can be compiled as the request says. Throws InvalidArgument for the file of a graph, which has
/// no training, for a type without fast kernels on processors, and for a form of collectives or attention there.
void require_compilable(const PlanRequest& request, DType compute, const Cluster& cluster) {
  if (!request.network && is_graph_file(request.model)) {
    throw InvalidArgument("[--check] a graph file cannot be trained, got {}, expected a model", request.model);
  }
  if (cluster.cores > 0 && is_half(compute)) {
    throw InvalidArgument("[--check] no programs are measured in this type on processors, got {}, expected f32 or f64",
                          name_of(compute));
  }
  const PlanRequest usual;
  for (const auto& [flag, is_usual, value] :
       {std::tuple("--collectives", request.collectives == usual.collectives, name_of(request.collectives)),
        std::tuple("--attention", request.attention == usual.attention, name_of(request.attention))}) {
    if (cluster.cores == 0 || is_usual) continue;
    throw InvalidArgument("[{}] has no effect, got {} on a cluster of processors, expected a chip (--target)", flag,
                          value);
  }
}

/// Returns the request with the cluster of its target, if it names one.
PlanRequest on_target(PlanRequest request) {
  if (!request.target.empty()) request.cluster = cluster_of_target(request.target);
  return request;
}

/// Returns the whole cluster without TF32 if the request says so, resized to the ranks of the request; 0 ranks leave it
/// whole. Only a cluster whose ranks share cores can grow. Throws InvalidArgument for a number of ranks out of range.
Cluster cluster_of(const PlanRequest& request, Cluster cluster) {
  if (!request.tf32) cluster = without_tf32(std::move(cluster));
  if (request.ranks == 0) return cluster;
  if (request.ranks < 0) {
    throw InvalidArgument("[{}] bad ranks, got {}, expected 1 to the {} of {}", request.where, request.ranks,
                          cluster.ranks(), cluster.name);
  }
  if (request.ranks <= cluster.ranks() || cluster.cores > 0) return resized(cluster, request.ranks);
  throw InvalidArgument("[{}] more ranks than the cluster has, got {}, expected at most {} of {}", request.where,
                        request.ranks, cluster.ranks(), cluster.name);
}

/// Returns the network to train: that of the request, without the plan and ranks of its configuration, else the model
/// of the zoo with its recipe and, if it is given, the loss of the request. None if the request names the file of a
/// graph. Throws InvalidArgument for an unknown model and for sizes that are unknown, malformed or out of range.
std::optional<TrainedNetwork> trained_of(const PlanRequest& request) {
  if (request.network) {
    TrainedNetwork own = *request.network;
    own.config.plan = {};  // the planner decides it
    own.config.ranks = {.kernels = own.config.ranks.kernels};
    return own;
  }
  if (is_graph_file(request.model)) return std::nullopt;
  const ZooModel model = make_model(request.model);
  JobConfig config = model.recipe;
  config.model = request.model;
  config.training.loss = request.loss.value_or(config.training.loss);
  return TrainedNetwork{model.network(config.training.loss), config, model.columns()};
}

DType dtype_of(const PlanRequest& request, const std::optional<TrainedNetwork>& trained) {
  return request.dtype.value_or(trained ? trained->config.training.dtype : DType::f32);
}

constexpr double kLess = 1 - 1e-6;

/// Returns a function that makes the plan of a graph on the ranks that share the same rows, from the cuts of a saved
/// plan without the axis "data"; it ignores its second argument. Lines that do not fit the graph are skipped. The
/// function throws InvalidArgument for malformed lines, for axes that the mesh lacks, and for what two lines cut.
std::function<Plan(const Graph&, int64_t)> plan_of_cuts(const NamedCuts& cuts) {
  return [own = without_axis(cuts, "data")](const Graph& graph, int64_t) {
    return plan_of(own, graph, all_ops(), /*any_purpose=*/true);
  };
}

}  // namespace

bool has_searched_cuts(const Configuration& configuration) {
  return configuration.tensor > 1 && configuration.cuts == TensorCuts::searched;
}

NetworkPlanner::NetworkPlanner(PlanRequest request, std::optional<NamedCuts> cuts, const Cluster* opened)
    : request_((require_ranges(request), on_target(std::move(request)))),
      cuts_(std::move(cuts)),
      trained_(trained_of(request_)),
      whole_cluster_(opened == nullptr ? open_cluster(request_.cluster) : *opened),
      cluster_(cluster_of(request_, whole_cluster_)),
      precision_(Precision::on(cluster_, dtype_of(request_, trained_), request_.reduce_dtype)),
      forward_(make_forward()),
      batch_(rows_of(forward_)),
      costs_(forward_, all_ops(), cluster_,
             {.training = {.optimizer = trained_ ? trained_->config.optimizer : OptimizerOptions{}},
              .precision = precision_,
              .fold = !cuts_,
              .search = request_.search,
              .own_plan = cuts_ ? plan_of_cuts(*cuts_) : nullptr}) {
  if (request_.check) require_compilable(request_, precision_.compute, cluster_);
}

std::string NetworkPlanner::name() const {
  return request_.network && request_.model.empty() ? request_.network->network.name() : request_.model;
}

int64_t NetworkPlanner::rows_of_network() const {
  return request_.batch > 0 ? request_.batch : trained().config.training.batch;
}

Graph NetworkPlanner::build_network(int64_t statistics_groups) const {
  return build_graph(
      trained().network, all_ops(),
      {.batch = rows_of_network(), .columns = trained().columns, .statistics_groups = statistics_groups});
}

NetworkFingerprint NetworkPlanner::fingerprint() const {
  return fingerprint_of_network(build_network(/*statistics_groups=*/1));
}

Graph NetworkPlanner::make_forward() const {
  // Batch norms take statistics per row, so that any micro-batch can be priced.
  if (trained_) return build_network(rows_of_network());
  Graph graph = read_graph(request_.model);
  for (const Node& node : graph.nodes) {
    if (node.phase == Phase::forward) continue;
    throw InvalidArgument("[plan] a training graph cannot be priced, got {} with {} nodes, expected a forward graph",
                          request_.model, name_of(node.phase));
  }
  if (request_.batch > 0 && request_.batch != rows_of(graph)) {
    throw InvalidArgument("[--batch] the graph fixes the number of rows, got {}, expected {}, or no --batch",
                          request_.batch, rows_of(graph));
  }
  return graph;
}

void require_network(const PlanRequest& request) {
  if (request.network || !is_graph_file(request.model)) return;
  throw InvalidArgument("[plan] a graph file cannot be trained, got {}, expected a model for --out, --html and explain",
                        request.model);
}

const TrainedNetwork& NetworkPlanner::trained() const {
  if (!trained_) require_network(request_);
  return *trained_;
}

double NetworkPlanner::memory() const {
  if (request_.memory > 0) return request_.memory;
  const double shared = cluster_.cores > 0 ? static_cast<double>(cluster_.levels.front().size) : 1;  // ranks of a host
  return cluster_.device.memory / shared - cluster_.reserve_memory;
}

PricedPlan NetworkPlanner::priced(const Configuration& configuration) {
  StagePrices& stages = costs_.stages(configuration);
  PricedPlan plan = priced(PricedConfiguration{configuration, costs_.price(configuration)});
  plan.lower_bound_seconds = stages.lower_bound(configuration.zero);
  return plan;
}

PricedPlan NetworkPlanner::priced(const PricedConfiguration& found) {
  PricedPlan plan = unplaced(found);
  if (request_.check) plan.compiled = compiled(plan);
  if (!is_placed()) return plan;
  plan.price.memory = placed(plan);
  plan.price.single_layers.clear();  // unknown for an arena
  return plan;
}

PricedPlan NetworkPlanner::unplaced(const PricedConfiguration& found) {
  return {.model = name(),
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
          .notes = price_notes({.cluster = cluster_,
                                .precision = precision_,
                                .attention = costs_.lowering().attention_share(),
                                .is_preset = !is_cluster_file(request_.cluster)},
                               found.configuration, found.price)};
}

/// Whether memory is measured on the compiled program instead of estimated. True for trainings in f32 or f64 on CPU
/// clusters, since kernels for these exist. False for the graph of a file, which cannot be trained.
bool NetworkPlanner::is_placed() const {
  const bool can_run = precision_.compute == DType::f32 || precision_.compute == DType::f64;
  return cluster_.cores > 0 && trained_ && can_run;
}

/// Returns the compute threads of each of `ranks` ranks on the cluster: its cores, but at most those of this machine,
/// divided by the ranks of its innermost level, rounded down; at least 1, and at most the threads that a team has here.
/// Throws LauncherErrors.
int NetworkPlanner::threads(int64_t ranks) const {
  const Place here = this_place();
  const int64_t cores = std::min<int64_t>(cluster_.cores, here.shared_cores());
  const int64_t sharers = resized(cluster_, ranks).levels.front().size;
  return static_cast<int>(std::clamp<int64_t>(cores / sharers, 1, here.team_threads));
}

const std::vector<StageMemory>& NetworkPlanner::placed(const PricedPlan& plan) {
  const auto cached = placed_.find(plan.configuration);
  if (cached != placed_.end()) return cached->second;
  JobConfig job = job_of_plan(plan);
  job.training.dtype = precision_.compute;
  job.ranks.threads = threads(plan.configuration.ranks());
  return placed_.emplace(plan.configuration, placed_memory(program_of(plan, std::move(job)))).first->second;
}

/// Returns the program of a plan, which is only measured, so it is not dumped.
Program NetworkPlanner::program_of(const PricedPlan& plan, JobConfig job) {
  job.files.dump.clear();
  if (cuts_) job.plan.given = GivenPlan{.file = cuts_->file, .cuts = cuts_};
  return make_program(job, {.network = trained().network,
                            .columns = trained().columns,
                            .batch = batch_,
                            .ranks = plan.configuration.ranks(),
                            .estimates = true});
}

/// Returns the memory of the rank whose programs take most: with the kernels of this processor on clusters of
/// processors, else compiled by the plugin of the cluster's chip. Throws InvalidArgument if the cluster is none of a
/// chip for which programs are compiled; RuntimeFailure as `ChipCompiler` does.
CompiledMemory NetworkPlanner::compiled(const PricedPlan& plan) {
  const auto cached = compiled_.find(plan.configuration);
  if (cached != compiled_.end()) return cached->second;
  const std::vector<StageMemory>& estimates = plan.price.memory;
  CompiledMemory most =
      is_placed() ? largest_of_schedules(estimates, placed(plan))
                  : largest_of_groups(estimates, [&](size_t group) { return compiled_by_plugin(plan, group); });
  return compiled_.emplace(plan.configuration, std::move(most)).first->second;
}

CompiledMemory NetworkPlanner::compiled_by_plugin(const PricedPlan& plan, size_t group) {
  if (!compiler_) compiler_ = std::make_unique<const ChipCompiler>(target_of_cluster(request_.cluster), nullptr);
  JobConfig job = job_of_plan(plan);
  const bool is_half = partita::is_half(precision_.compute);
  job.training.dtype = is_half ? DType::f32 : precision_.compute;
  if (is_half) job.training.precision = parse_name<MixedPrecision>("--check", name_of(precision_.compute));
  job.ranks.device = compiler_->target().accelerator;
  job.ranks.collectives = request_.collectives;
  job.ranks.attention = request_.attention;
  const AcceleratorModes modes = choose_modes(job.ranks);
  const Program program = program_of(plan, std::move(job));
  const CompiledJob made =
      compiler_->compile(program, {.modes = modes, .ranks = {program.pipeline.groups[group].first}}, plan.model);
  const CompiledProgram& peak = made.programs.at(made.peak());
  return {.compiler = fmt::format("{}, PJRT {}", made.target.chip, made.plugin),
          .states = static_cast<double>(peak.program.held.states),
          .values = static_cast<double>(peak.program.held.values),
          .temporaries = static_cast<double>(peak.memory.temporaries)};
}

/// Searches by estimates. Where memory is measured or checked, and the compiled program of the result needs more than
/// `memory`, searches again with a smaller budget. If no estimate fits, the configuration with the least memory becomes
/// the best if its program fits. Throws InvalidArgument if the pins allow no configuration, none can be lowered, or
/// they ask for searched cuts and the search is propagation. Throws as `priced` does.
ConfigurationSearch NetworkPlanner::searched(const Pins& pins, bool runner_up, bool any) {
  SearchRequest request{.costs = costs_,
                        .ranks = cluster_.ranks(),
                        .memory_bytes = memory(),
                        .pins = pins,
                        .runner_up = runner_up,
                        .idle = request_.idle,
                        .any = any};
  double bound = std::numeric_limits<double>::infinity();  // the first search's: later ones leave out what may fit
  for (;;) {
    ConfigurationSearch search = search_configurations(request);
    if (!is_placed() && !request_.check) return search;
    bound = std::min(bound, search.lower_bound_seconds);
    search.lower_bound_seconds = bound;
    const PricedConfiguration& found = search.best ? *search.best : *search.least;
    const double estimated = found.price.peak_memory(), bytes = priced(found).fullest();
    if (!search.best && bytes <= memory()) search.best = search.least;
    if (!search.best || bytes <= memory()) return search;
    request.memory_bytes = std::min(estimated * kLess, memory() * estimated / bytes);
  }
}

JobConfig NetworkPlanner::job_of_plan(const PricedPlan& plan) {
  JobConfig job = trained_ ? trained_->config : JobConfig{};
  job.training.batch = batch_;
  job.plan.options.search = request_.search;
  job.plan.options.costs = costs_.plan_options(plan.configuration).costs;
  return completed(job_of(std::move(job), plan.configuration, plan.price, costs_.folded(), forward_, all_ops()),
                   Place{.cores = 1});
}

PlanFile NetworkPlanner::plan_file(const PricedPlan& plan) {
  const JobConfig job = job_of_plan(plan);
  Program program = make_program(job, {.network = trained().network,
                                       .columns = trained().columns,
                                       .batch = batch_,
                                       .ranks = plan.configuration.ranks(),
                                       .last = Stage::training,
                                       .estimates = true});
  PlanFile file = plan_file_of({job, plan.configuration, std::move(program.graph), all_ops()});
  file.dtype = precision_.compute;
  file.tf32 = request_.tf32;
  file.reduce_dtype = request_.reduce_dtype;
  file.cluster = request_.cluster;
  file.software = cluster_.software.name;
  file.network = fingerprint();
  const Price price =
      has_searched_cuts(plan.configuration) ? price_of_cuts(*file.cuts, plan.configuration) : plan.price;
  file.predicted = PredictedStep{.step_seconds = price.step_seconds};
  for (const StageMemory& memory : price.memory) file.predicted->memory_bytes.push_back(memory.total());
  return file;
}

void NetworkPlanner::require_trainable(const PlanFile& plan) const {
  if (!plan.cuts) return;
  const JobConfig job = completed(with_plan(trained().config, plan), Place{.cores = 1});
  const Program program = make_program(job, {.network = trained().network,
                                             .columns = trained().columns,
                                             .batch = plan.batch,
                                             .ranks = plan.ranks,
                                             .last = Stage::training});
  partial_plan_of(*plan.cuts, program.graph, Rules(program.graph, all_ops()));
}

Price NetworkPlanner::price_of_cuts(const NamedCuts& cuts, const Configuration& configuration) const {
  return NetworkPlanner(request_, cuts, &whole_cluster_).priced(configuration).price;
}

Plan NetworkPlanner::folded_plan(const PricedPlan& plan) {
  const PlanOptions options = job_of_plan(plan).plan.options;
  const Graph& graph = costs_.folded().graph;
  const int64_t ranks = plan.configuration.ranks() / plan.configuration.pipeline;
  return make_plan(graph, all_ops(), make_mesh(graph, ranks, options), options);
}

}  // namespace partita
