#include "job/program.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/plan/assign_stages.h"
#include "compiler/plan/outputs.h"
#include "compiler/search/data_parallel.h"
#include "compiler/search/named_cuts.h"
#include "ir/graph/layer_path.h"
#include "ir/ops/constant.h"
#include "ir/ops/registry.h"
#include "ir/optimizers/averages.h"
#include "job/fused_attention.h"
#include "job/loss_scaling.h"
#include "job/norm_values.h"
#include "job/precision_options.h"
#include "runtime/device/xla/xla_device.h"

namespace partita {

namespace {

DeviceOptions device_options(const RanksConfig& ranks) {
  return {.name = ranks.device,
          .threads = ranks.threads,
          .kernels = ranks.kernels,
          .attention = choose_modes(ranks).attention};
}

/// The forward graphs of the network of a request. Each is built once.
class Graphs {
 public:
  /// Both arguments outlive this object.
  Graphs(const TrainingConfig& training, const ProgramRequest& request) : training_(training), request_(request) {}
  Graphs(const Graphs&) = delete;

  /// Returns the graph for a purpose, for `batch` rows with `groups` groups of statistics. Throws InvalidArgument if
  /// the network cannot be built.
  const Graph& of(Purpose purpose, int64_t batch, int64_t groups = 1) {
    const std::tuple key(purpose, batch, groups);
    const auto found = built_.find(key);
    if (found != built_.end()) return found->second;
    return built_.emplace(key, build(request_.network, purpose, batch, groups)).first->second;
  }
  /// Returns the graph of a training of the request's rows. Throws as the function above.
  const Graph& of_training(int64_t groups = 1) { return of(Purpose::training, request_.batch, groups); }
  Graph build(const Network& network, Purpose purpose, int64_t batch, int64_t groups = 1) const {
    return build_graph(network, all_ops(),
                       {.batch = batch,
                        .columns = request_.columns,
                        .dtype = training_.dtype,
                        .purpose = purpose,
                        .statistics_groups = groups,
                        .seed = training_.seed});
  }

 private:
  const TrainingConfig& training_;
  const ProgramRequest& request_;
  std::map<std::tuple<Purpose, int64_t, int64_t>, Graph> built_;
};

/// Returns the stages of the training, by which an evaluation runs. They are assigned on the training graph, since some
/// layers of a stage may exist only there. Returns none if there is one stage. Throws InvalidArgument if the network
/// cannot be built or an annotation names a layer that does not exist.
NamedStages stages_of_evaluation(const JobConfig& config, const ProgramRequest& request, Graphs& graphs) {
  if (request.training != nullptr) return named_stages(request.training->graph, request.training->assignment);
  const PipelineOptions& pipeline = config.plan.options.pipeline;
  if (pipeline.stages == 1) return {};
  if (pipeline.stages == 0 && pipeline.stage_annotations.empty()) {
    const Graph& evaluation = graphs.of(Purpose::evaluation, request.batch);
    if (std::ranges::none_of(evaluation.nodes, [](const Node& node) { return node.stage > 0; })) return {};
  }
  Graph training = graphs.of_training();
  annotate_stages(training, pipeline.stage_annotations);
  training = remove_dead_nodes(std::move(training));
  return named_stages(training, assign_stages(training, Rules(training, all_ops()), pipeline.stages));
}

/// Checks that a given plan is for the network of the graphs, at the training's batch. A plan that names no network
/// passes. Throws InvalidArgument otherwise, and if the network cannot be built.
void require_planned_network(const JobConfig& config, Graphs& graphs) {
  const GivenPlan& given = *config.plan.given;
  if (!given.network) return;
  const NetworkFingerprint own = fingerprint_of_network(graphs.of(Purpose::training, config.training.batch));
  if (own == *given.network) return;
  throw InvalidArgument(
      "[{}:{}] the plan is for another network, got {} nodes and {} parameters, expected {} nodes and {} parameters{}",
      given.file, given.line, own.nodes, own.parameters, given.network->nodes, given.network->parameters,
      own.nodes == given.network->nodes && own.parameters == given.network->parameters
          ? " with other names or sizes (without this line only the cuts are compared)"
          : "");
}

/// Returns the plan of `graph` that the given cuts describe. For an evaluation, cuts that its graph or its rows do not
/// allow are left out. Throws InvalidArgument if they are for another number of ranks of a stage and, except for an
/// evaluation, if `graph` does not allow them.
Plan given_plan(const NamedCuts& cuts, const Graph& graph, int64_t ranks, bool evaluation) {
  if (cuts.mesh.ranks() != ranks) {
    throw InvalidArgument("[{}] the plan is for another number of ranks of each stage, got {}, expected {}", cuts.file,
                          ranks, cuts.mesh.ranks());
  }
  return plan_of(cuts, graph, all_ops(), evaluation);
}

/// Returns the plan of an evaluation: that of `given_plan` if cuts are given, else one of the configured mode. With
/// `any_rows`, a mode that uses annotations gives way to an uneven data parallel plan if the batch has fewer rows than
/// there are ranks, and fewer than a micro-batch of the training. Throws as `given_plan` does, and InvalidArgument for
/// annotations that the graph or the ranks do not allow.
Plan evaluation_plan(const Graph& graph, int64_t ranks, const JobConfig& config, const ProgramRequest& request) {
  PlanOptions options = config.plan.options;
  if (request.any_rows) {
    options.uneven = Uneven::allow;
    if (options.parallel == Parallel::data) options.parallel = Parallel::hybrid;
  }
  Mesh mesh = make_mesh(graph, ranks, options);
  for (size_t stage = 0; request.training != nullptr && stage < request.training->stages.size(); ++stage) {
    const Mesh& own = request.training->stages[stage].plan.mesh;
    if (own.ranks() == ranks) mesh = own.with_micro_batches(1);
  }
  if (config.plan.given && config.plan.given->cuts) {
    return with_outputs_to_read(given_plan(*config.plan.given->cuts, graph, ranks, /*evaluation=*/true), graph,
                                all_ops());
  }
  const int64_t rows_of_training = config.training.batch / config.plan.options.micro_batches;
  const bool has_rows =
      !request.any_rows || request.batch >= std::min(ranks, rows_of_training) || !uses_annotations(options.parallel);
  Plan plan = has_rows ? make_plan(graph, all_ops(), mesh, options)
                       : data_parallel_plan(graph, Rules(graph, all_ops()), mesh, {.uneven = true, .layerwise = false});
  return with_outputs_to_read(std::move(plan), graph, all_ops());
}

bool has_batch_norm(const Graph& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const Node& node) { return all_ops().at(node.op).traits.batch_statistics != nullptr; });
}

int64_t groups_of_stages(const JobConfig& config) {
  const PipelineOptions& pipeline = config.plan.options.pipeline;
  return std::max<int64_t>(1, pipeline.stages / pipeline.interleave);
}

/// Returns how a schedule is made for a device. A program of whole mode ends where a message is for the last
/// micro-batch alone, so that packing would make one program of each, in which nothing overlaps.
ScheduleOptions schedule_options(const RanksConfig& ranks, int64_t micro_batches) {
  const bool has_whole_loop = choose_modes(ranks).collectives == CollectiveMode::whole && micro_batches > 1;
  return {.pack = !has_whole_loop, .overlap = !has_whole_loop, .shares_caches = ranks.device == "cpu"};
}

/// Returns the number of groups of rows of a training with their own statistics: 1 for global ones, one per rank of a
/// stage and micro-batch, or one per micro-batch if ranks do not split the batch alone (`cuts_batch_alone`). Returns 1
/// if stages differ in ranks and there is no batch norm, and if there are fewer ranks than groups of stages, which
/// `compile` refuses later. Throws InvalidArgument if stages with a batch norm have different numbers of ranks.
int64_t statistics_groups(const JobConfig& config, int64_t ranks, Graphs& graphs) {
  if (config.training.batch_norm != BatchNormStatistics::local) return 1;
  const int64_t groups = groups_of_stages(config);
  if (!cuts_batch_alone(config)) return config.plan.options.micro_batches;
  if (ranks % groups == 0) return ranks / groups * config.plan.options.micro_batches;
  if (ranks < groups || !has_batch_norm(graphs.of_training())) return 1;
  throw InvalidArgument(
      "[--batch-norm] statistics of the rows of each rank need stages of equal size, got {} ranks for {} groups of "
      "stages, expected a multiple of {} or --batch-norm global",
      ranks, groups, groups);
}

/// Returns the number of ranks of one stage. Returns 1 if there are fewer ranks than groups of stages, which `compile`
/// refuses later. Throws InvalidArgument if stages have different numbers of ranks.
int64_t ranks_that_share_a_batch(const JobConfig& config, int64_t ranks) {
  const int64_t groups = groups_of_stages(config);
  if (ranks % groups == 0 || ranks < groups) return std::max<int64_t>(1, ranks / groups);
  throw InvalidArgument(
      "[--gradients sum] sums of the ranks' means need stages of equal size, got {} ranks for {} groups of stages, "
      "expected a multiple of {} or --gradients mean",
      ranks, groups, groups);
}

PrecisionOptions precision_of(const JobConfig& config, const ProgramRequest& request) {
  return precision_options(config.training, request.network.precisions());
}

/// Checks the layers of `--precision-of` for a program that is no training, by the forward graph of one. Throws
/// InvalidArgument for a path that names no layer.
void require_precise_layers(const JobConfig& config, const ProgramRequest& request, Graphs& graphs) {
  PrecisionOptions options = precision_of(config, request);
  // Rows of a prediction may lack labels, so its graph has no loss, nor layers that a network has in its loss.
  const bool has_loss = request.purpose == Purpose::evaluation;
  std::erase_if(options.layers, [&](const LayerPrecision& layer) {
    return !has_loss && matches_layer(layer.layers.substr(0, layer.layers.find('/')), "loss");
  });
  if (std::ranges::none_of(options.layers, [](const LayerPrecision& layer) { return layer.is_required; })) {
    return;
  }
  if (has_loss) return require_precise_layers(graphs.of_training(), all_ops(), options);
  const Network without_loss(request.network.name(), request.network.forward(),
                             [](Context& context, Columns&, const NamedValues&) -> NamedValues {
                               return {{"loss", constant(context.builder(), 0, {context.options().dtype, {}})}};
                             });
  require_precise_layers(graphs.build(without_loss, Purpose::training, request.batch), all_ops(), options);
}

TrainingOptions training_options(const JobConfig& config, const ProgramRequest& request) {
  TrainingOptions options{.optimizer = config.optimizer,
                          .own_update = request.own_update,
                          .scalar_outputs = true,  // a training reads its loss alone
                          .recompute = config.plan.recompute,
                          .precision = precision_of(config, request)};
  add_loss_scaling(options, config.training);
  if (config.training.gradients == GradientReduction::sum) {
    options.gradient_factor = static_cast<double>(ranks_that_share_a_batch(config, request.ranks));
  }
  if (config.training.micro_loss == MicroLoss::sum) {
    options.gradient_factor *= static_cast<double>(config.plan.options.micro_batches);
  }
  return options;
}

/// Returns the graph of an evaluation with the averages of a training that holds its states, by their names, in place
/// of the parameters that the training averages.
Graph with_averages(Graph graph, const Graph& training) {
  const auto held = training.states_by_name();
  for (const State& state : graph.states) {
    std::string& name = graph.values[static_cast<size_t>(state.entry)].name;
    if (held.contains(average_of(name))) name = average_of(name);
  }
  return graph;
}

/// Returns `config` with the number of pipeline stages set; `graph` is that of its training. Throws InvalidArgument if
/// an annotation names a layer that does not exist.
JobConfig with_stages(JobConfig config, Graph graph) {
  int64_t& stages = config.plan.options.pipeline.stages;
  annotate_stages(graph, config.plan.options.pipeline.stage_annotations);
  stages = 1;
  for (const Node& node : graph.nodes) stages = std::max<int64_t>(stages, node.stage + 1);
  return config;
}

/// Returns `config` with the number of stages of its training set. An open number is that of the layers, which most
/// often have no stages. So the graph of one stage is built, which such a training runs. Throws InvalidArgument if the
/// network cannot be built or an annotation names a layer that does not exist.
JobConfig with_stages(JobConfig config, const ProgramRequest& request, Graphs& graphs) {
  int64_t& stages = config.plan.options.pipeline.stages;
  if (stages > 0) return config;
  stages = 1;
  const int64_t groups = statistics_groups(config, request.ranks, graphs);
  try {
    graphs.of_training(groups);
  } catch (const InvalidArgument&) {  // the fewer groups of several stages may divide the rows
    return with_stages(std::move(config), graphs.of_training());
  }
  return with_stages(std::move(config), graphs.of_training(groups));
}

}  // namespace

Graph build_evaluation(const JobConfig& config, const ProgramRequest& request) {
  return Graphs(config.training, request).of(Purpose::evaluation, request.batch);
}

NetworkFingerprint network_fingerprint(const JobConfig& config, const ProgramRequest& request) {
  return fingerprint_of_network(Graphs(config.training, request).of(Purpose::training, config.training.batch));
}

JobConfig with_stages(JobConfig config, const Network& network, const std::vector<Column>& columns) {
  if (config.plan.options.pipeline.stages > 0) return config;
  const ProgramRequest request{.network = network, .columns = columns, .batch = config.training.batch};
  return with_stages(config, Graphs(config.training, request).of_training());
}

Program make_program(const JobConfig& given, const ProgramRequest& request) {
  const bool training = request.purpose == Purpose::training;
  Graphs graphs(given.training, request);
  const JobConfig config = training ? with_stages(given, request, graphs) : given;
  const bool evaluation = request.purpose == Purpose::evaluation;
  CompileOptions options{.ranks = request.ranks,
                         .plan = config.plan.options,
                         .annotations = config.plan.annotations,
                         .last = request.last};
  if (!training) {
    options.precision = precision_of(config, request);
    if (request.training == nullptr) require_precise_layers(config, request, graphs);
    options.plan.micro_batches = 1;
    options.plan.zero = {};
    options.stages = evaluation ? stages_of_evaluation(config, request, graphs) : NamedStages{};
    options.holder = request.training;
    if (!evaluation) options.plan.pipeline = {.stages = 1};
  }
  if (training) {
    options.training = training_options(config, request);
    options.passes = {.dump_dir = config.files.dump, .switched_off = config.plan.passes_switched_off};
  }
  if (evaluation) {
    options.own_plan = [&](const Graph& graph, int64_t ranks) {
      return evaluation_plan(graph, ranks, config, request);
    };
  }
  const std::optional<GivenPlan>& own = config.plan.given;
  if (own && request.purpose != Purpose::prediction && request.training == nullptr) {
    require_planned_network(config, graphs);
  }
  if (training && own && own->cuts) {
    options.own_plan = [&](const Graph& graph, int64_t ranks) {
      return given_plan(*own->cuts, graph, ranks, /*evaluation=*/false);
    };
  }
  const int64_t groups = training ? statistics_groups(config, request.ranks, graphs) : 1;
  const auto device = make_device(all_ops(), device_options(config.ranks));
  device->enter_thread();
  options.schedule = schedule_options(config.ranks, options.plan.micro_batches);
  const auto forward = [&] {
    Graph graph = request.graph != nullptr ? *request.graph : graphs.of(request.purpose, request.batch, groups);
    if (training && !request.estimates) require_several_values(graph, all_ops(), config.plan.options.micro_batches);
    if (training) annotate_recomputed(graph, all_ops(), config.plan.recompute_layers);
    if (request.training != nullptr) graph = with_averages(std::move(graph), request.training->graph);
    return graph;
  };
  Program program = compile(forward, all_ops(), device->catalog(), options);
  if (options.own_plan && request.last >= Stage::plan) {
    std::string warning = ignored_annotations(program.graph, program.stages.front().plan.mesh, config.plan.options);
    if (!warning.empty()) program.warnings.push_back(std::move(warning));
  }
  if (training && request.last == Stage::schedule && config.ranks.attention == AttentionChoice::fused) {
    std::string warning = warning_of_composed(program);
    if (!warning.empty()) program.warnings.push_back(std::move(warning));
  }
  return program;
}

Program make_program(const JobConfig& config, const GraphRequest& request) {
  CompileOptions options{.ranks = request.ranks,
                         .plan = config.plan.options,
                         .annotations = config.plan.annotations,
                         .passes = {.switched_off = config.plan.passes_switched_off},
                         .last = request.last};
  const PrecisionOptions precision = precision_options(config.training);
  if (request.training) {
    options.training = TrainingOptions{.optimizer = config.optimizer, .precision = precision};
    add_loss_scaling(*options.training, config.training);
  } else if (!request.is_finished) {
    options.precision = precision;
  }
  const auto device = make_device(all_ops(), device_options(config.ranks));
  device->enter_thread();
  return compile(request.forward, all_ops(), device->catalog(), options);
}

}  // namespace partita
