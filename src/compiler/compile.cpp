#include "compiler/compile.h"

#include <algorithm>
#include <array>
#include <map>

#include "compiler/partition/partition.h"
#include "compiler/partition/print_rank.h"
#include "compiler/partition/round_reductions.h"
#include "compiler/partition/split_stages.h"
#include "compiler/plan/assign_stages.h"
#include "compiler/plan/cut_micro_batches.h"
#include "compiler/plan/shard_optimizer.h"
#include "compiler/schedule/fold_casts.h"
#include "compiler/schedule/timeline.h"
#include "ir/orders/text.h"

namespace partita {
namespace {

/// Returns the number of groups of ranks if each runs `interleave` of the stages: `stages` / `interleave`. Throws
/// InvalidArgument unless `interleave` is at least 1 and divides `stages`.
int64_t groups_of(int64_t stages, int64_t interleave) {
  if (interleave >= 1 && stages % interleave == 0) return stages / interleave;
  const int64_t each = std::max<int64_t>(1, interleave), below = stages / each * each;
  throw InvalidArgument(
      "[stages] stages do not divide into groups of ranks, got {} with {} on each group, expected {}{} stages, or "
      "--interleave 1",
      stages, interleave, below > 0 ? fmt::format("{} or ", below) : "", below + each);
}

/// Returns a warning if the order in `options` has no effect on `stages` stages: it is not the default and there is one
/// stage, or it is interleaved and the stages share no ranks. Else returns an empty string.
std::string warning_of_order(const PipelineOptions& options, int64_t stages) {
  if (stages == 1 && options.order != PipelineOptions{}.order) {
    return fmt::format("[--order] has no effect on one stage, got {}, expected it with --stages of 2 or more",
                       name_of(options.order));
  }
  if (stages > 1 && options.order == Order::interleaved && options.interleave == 1) {
    return fmt::format(
        "[--order] stages that share no ranks run as 1f1b, got {} stages of {}, expected --interleave of 2 or more",
        stages, name_of(options.order));
  }
  return "";
}

MicroSections micro_sections(int64_t stages, Order order) {
  if (stages == 1) return MicroSections::one;
  return order == Order::zero_bubble ? MicroSections::weights : MicroSections::backward;
}

/// Returns the line "stages N", then a line "node NAME STAGE" per node and "state NAME STAGE" per state, in the order
/// of the graph, with '*' for what every stage has.
std::string print_assignment(const StageAssignment& stages, const Graph& graph) {
  const auto place = [](int stage) { return stage == kEveryStage ? "*" : fmt::to_string(stage); };
  std::string text = fmt::format("stages {}\n", stages.stages);
  for (size_t n = 0; n < stages.nodes.size(); ++n) {
    text += fmt::format("node {} {}\n", graph.nodes[n].name, place(stages.nodes[n]));
  }
  for (size_t s = 0; s < stages.states.size(); ++s) {
    text += fmt::format("state {} {}\n", graph.values[graph.states[s].entry].name, place(stages.states[s]));
  }
  return text;
}

using Plans = std::map<int64_t, Plan>;  // by the number of ranks of a group

std::string print_plans(const Plans& plans, const Graph& graph, const OpSet& ops) {
  std::string text;
  for (const auto& [ranks, plan] : plans) {
    if (plans.size() > 1) text += fmt::format("{}# on {} ranks\n", text.empty() ? "" : "\n", ranks);
    text += print(plan, graph, ops);
  }
  return text;
}

/// Whether the pipeline may have more than one stage: `stages` is more than 1, or it is 0 and a node of the graph is
/// marked with a stage above 0.
bool may_have_stages(const Graph& graph, int64_t stages) {
  return stages > 1 ||
         (stages == 0 && std::ranges::any_of(graph.nodes, [](const Node& node) { return node.stage > 0; }));
}

/// Writes the local graph of each rank to rank_RANK/partition.txt in the dump folder, or partition_STAGE.txt if there
/// are several stages. Throws RuntimeFailure(cannot_write) if a file cannot be written.
void write_ranks(const Passes& passes, const Program& program, const OpSet& ops) {
  for (size_t stage = 0; stage < program.stages.size(); ++stage) {
    const RankGroup& group = program.pipeline.group_of(static_cast<int>(stage));
    const std::string file = program.stages.size() == 1 ? "partition.txt" : fmt::format("partition_{}.txt", stage);
    for (int64_t rank = 0; rank < group.count; ++rank) {
      passes.write(fmt::format("rank_{}/{}", group.first + rank, file),
                   print_rank(program.stages[stage].local, ops, rank));
    }
  }
}

/// Returns the type in which sums of parameters' gradients are sent; none: their own.
std::optional<DType> wire_of(const CompileOptions& options) {
  return options.training ? options.training->precision.reductions : std::nullopt;
}

/// Returns the options of a plan, whose gradients are priced as they are sent.
PlanOptions priced(const CompileOptions& options) {
  PlanOptions plan = options.plan;
  if (wire_of(options)) plan.gradient_share = 0.5;  // 16 bits of 32
  return plan;
}

// Steps of other passes, which can be left out.
constexpr std::string_view kPartialSums = "partial_sums", kPackReductions = "pack_reductions",
                           kOverlapCollectives = "overlap_collectives", kFoldCasts = "fold_casts";

/// Runs the passes of `kPasses` in order, each on the result of those before it. Throws RuntimeFailure(cannot_write) if
/// a dump fails.
class Flow {
 public:
  struct Pass {
    std::string_view name;  // name in dumps, in times and for --no-pass
    Stage stage;            // the pass runs if `CompileOptions::last` is this stage or a later one
    void (Flow::*run)();    // null: part of the next pass that has a function
    enum Part { needed, optional } part = needed;
    bool (Flow::*applies)() const = &Flow::always;
  };

  Flow(const std::function<Graph()>& forward, const OpSet& ops, const KernelCatalog& catalog,
       const CompileOptions& options)
      : forward_(forward), ops_(ops), catalog_(catalog), options_(options), passes_(options.passes) {}

  Program run();

  // Conditions under which a pass applies.
  bool always() const { return true; }
  bool is_training() const { return options_.training.has_value(); }
  bool is_forward() const { return !is_training(); }
  bool shards_optimizer() const { return options_.plan.zero.level > 0; }
  bool has_micro_batches() const { return options_.plan.micro_batches != 1; }
  bool is_held() const { return options_.holder != nullptr; }
  bool has_stages() const { return program_.assignment.stages > 1; }

  void make_graph();
  void remove_dead();
  void make_training();
  void assign_to_stages();
  void cut_nodes();
  void shard_states();
  void cut_batch();
  void cut_as_held();
  void split_into_stages();
  void insert_reshard_nodes();
  void partition_stages();
  void order_stages();
  void schedule_stages();

 private:
  template <class Make>
  void graph_stage(const Make& make) {
    program_.graph = passes_.stage(
        name_, make, [&](const Graph& graph) { verify(graph, ops_); }, [](const Graph& graph) { return print(graph); });
  }

  /// Calls `change(plan, ranks)`, which changes the plan in place, for each plan in `plans_` and the number of ranks
  /// that it is for. All calls are timed and their results dumped as the pass that runs (`name_`). Throws what `change`
  /// throws.
  template <class Change>
  void change_plans(const Change& change) {
    plans_ = passes_.part(
        name_,
        [&] {
          for (auto& [ranks, plan] : plans_) change(plan, ranks);
          return std::move(plans_);
        },
        [](const Plans&) {}, [&](const Plans& plans) { return print_plans(plans, program_.graph, ops_); });
  }

  std::string text_of(const std::vector<StageProgram>& stages,
                      const std::function<std::string(const StageProgram&)>& print_one) const {
    return print_stages(program_.pipeline, stages, print_one);
  }
  StateFormats held_states(size_t stage) const;

  const std::function<Graph()>& forward_;
  const OpSet& ops_;
  const KernelCatalog& catalog_;
  const CompileOptions& options_;
  Passes passes_;
  std::string name_;  // name of the pass that runs
  Program program_;
  std::optional<Rules> rules_;             // rules of the graph; set from the stage `plan` on
  Plans plans_;                            // plans of the whole graph, until it is split into stages
  std::vector<ReshardedGraph> resharded_;  // per pipeline stage, until it is partitioned
};

/// All passes in order. --dump writes the result of each; --no-pass leaves out optional ones.
constexpr std::array kPasses{
    Flow::Pass{"graph", Stage::graph, &Flow::make_graph},
    Flow::Pass{"remove_dead_nodes", Stage::training, &Flow::remove_dead, Flow::Pass::optional, &Flow::is_forward},
    Flow::Pass{"training", Stage::training, &Flow::make_training, Flow::Pass::needed, &Flow::is_training},
    Flow::Pass{"stages", Stage::plan, &Flow::assign_to_stages},
    Flow::Pass{"cuts", Stage::plan, &Flow::cut_nodes},
    Flow::Pass{"shard_optimizer", Stage::plan, &Flow::shard_states, Flow::Pass::optional, &Flow::shards_optimizer},
    Flow::Pass{"micro_batches", Stage::plan, &Flow::cut_batch, Flow::Pass::needed, &Flow::has_micro_batches},
    Flow::Pass{"held_states", Stage::plan, &Flow::cut_as_held, Flow::Pass::needed, &Flow::is_held},
    Flow::Pass{"plan", Stage::plan, &Flow::split_into_stages},
    Flow::Pass{kPartialSums, Stage::partition, nullptr, Flow::Pass::optional},
    Flow::Pass{"reshard", Stage::partition, &Flow::insert_reshard_nodes},
    Flow::Pass{"partition", Stage::partition, &Flow::partition_stages},
    Flow::Pass{"order", Stage::partition, &Flow::order_stages, Flow::Pass::needed, &Flow::has_stages},
    Flow::Pass{kFoldCasts, Stage::schedule, nullptr, Flow::Pass::optional},
    Flow::Pass{kPackReductions, Stage::schedule, nullptr, Flow::Pass::optional},
    Flow::Pass{kOverlapCollectives, Stage::schedule, nullptr, Flow::Pass::optional},
    Flow::Pass{"schedule", Stage::schedule, &Flow::schedule_stages},
};

Program Flow::run() {
  std::vector<PassName> names;
  for (const Pass& pass : kPasses) {
    // The training pass removes dead nodes itself, so --no-pass refuses `remove_dead_nodes` there. Other optional
    // passes may be named even where they do not apply.
    if (pass.applies != &Flow::is_forward || is_forward()) names.push_back({pass.name, pass.part == Pass::optional});
  }
  passes_.check_switched_off(names);
  for (const Pass& pass : kPasses) {
    if (pass.run == nullptr || options_.last < pass.stage || !(this->*pass.applies)()) continue;
    if (!passes_.runs(pass.name)) continue;
    name_ = pass.name;
    (this->*pass.run)();
  }
  program_.times = passes_.times();
  return std::move(program_);
}

void Flow::make_graph() {
  graph_stage([&] {
    Graph graph = forward_();
    annotate_nodes(graph, options_.annotations);
    if (!options_.stages) annotate_stages(graph, options_.plan.pipeline.stage_annotations);
    return is_training() ? graph : mixed_precision(std::move(graph), ops_, options_.precision);
  });
}

void Flow::remove_dead() {
  program_.graph = passes_.part(
      name_, [&] { return remove_dead_nodes(std::move(program_.graph)); }, [](const Graph&) {},
      [](const Graph& graph) { return print(graph); });
}

void Flow::make_training() {
  graph_stage([&] {
    TrainingGraph training = make_training_graph(program_.graph, ops_, *options_.training);
    program_.warnings = std::move(training.warnings);
    const bool in_parts =
        options_.plan.micro_batches > 1 || may_have_stages(program_.graph, options_.plan.pipeline.stages);
    return in_parts ? with_scalar_outputs(std::move(training.graph)) : std::move(training.graph);
  });
}

/// Assigns nodes and states to pipeline stages, and ranks to stages. Warns of a pipeline order without effect. Throws
/// InvalidArgument if the graph or the ranks do not allow the stages that the options ask for.
void Flow::assign_to_stages() {
  const PipelineOptions& options = options_.plan.pipeline;
  rules_.emplace(program_.graph, ops_);
  program_.assignment = passes_.part(
      name_,
      [&] {
        return options_.stages ? follow_stages(program_.graph, *options_.stages)
                               : assign_stages(program_.graph, *rules_, options.stages);
      },
      [](const StageAssignment&) {},
      [&](const StageAssignment& stages) { return print_assignment(stages, program_.graph); });
  const StageAssignment& stages = program_.assignment;
  Pipeline& pipeline = program_.pipeline;
  const int64_t groups = groups_of(stages.stages, options.interleave);
  std::string warning = is_training() ? warning_of_order(options, stages.stages) : "";
  if (!warning.empty()) program_.warnings.push_back(std::move(warning));
  const int64_t ranks = options_.mesh && groups == 1 ? options_.mesh->ranks() : options_.ranks;
  pipeline.groups = rank_groups(ranks, groups);
  pipeline.shape.groups.clear();
  for (int64_t stage = 0; stage < stages.stages; ++stage) {
    pipeline.shape.groups.push_back(static_cast<int>(stage % groups));
  }
  pipeline.shape.micro_batches = is_training() ? options_.plan.micro_batches : 1;
}

/// Makes one plan of the graph for each number of ranks of a stage, and keeps it in the program if it is the only one.
/// Warns of annotations that are ignored. Throws InvalidArgument if the options, the graph or its annotations do not
/// fit the ranks, and what `own_plan` and the options' `costs` throw.
void Flow::cut_nodes() {
  plans_ = passes_.part(
      name_,
      [&] {
        Plans plans;
        for (int stage = 0; stage < program_.assignment.stages; ++stage) {
          const int64_t ranks = program_.pipeline.group_of(stage).count;
          if (plans.contains(ranks)) continue;
          const bool fits = options_.mesh && options_.mesh->ranks() == ranks;
          const Mesh mesh = fits ? *options_.mesh : make_mesh(program_.graph, ranks, options_.plan);
          std::string warning = options_.own_plan ? "" : ignored_annotations(program_.graph, mesh, options_.plan);
          if (!warning.empty()) program_.warnings.push_back(std::move(warning));
          plans.emplace(ranks, options_.own_plan ? options_.own_plan(program_.graph, ranks)
                                                 : make_plan(program_.graph, *rules_, ops_, mesh, priced(options_)));
        }
        return plans;
      },
      [](const Plans&) {}, [&](const Plans& plans) { return print_plans(plans, program_.graph, ops_); });
  if (plans_.size() == 1) program_.cuts = plans_.begin()->second;
}

void Flow::shard_states() {
  const OptimizerSharding& zero = options_.plan.zero;
  change_plans([&](Plan& plan, int64_t ranks) {
    const auto whole = plan.inputs;
    plan = shard_optimizer(std::move(plan), program_.graph, *rules_, zero);
    if (plan.inputs != whole || has_stages()) return;
    program_.warnings.push_back(
        fmt::format("[--zero] has no effect, got level {} on {} ranks, expected ranks that share a batch and "
                    "parameters of {} bytes or more (--zero-threshold)",
                    zero.level, ranks, zero.threshold));
  });
}

void Flow::cut_batch() {
  change_plans([&](Plan& plan, int64_t) {
    plan = cut_micro_batches(std::move(plan), program_.graph, *rules_, options_.plan.micro_batches);
  });
}

/// Shards and regathers states as the program that holds them does, in the plan for as many ranks. Others stay.
void Flow::cut_as_held() {
  const Program& holder = *options_.holder;
  const auto places = program_.graph.states_by_name();
  change_plans([&](Plan& plan, int64_t ranks) {
    for (size_t stage = 0; stage < holder.stages.size(); ++stage) {
      if (holder.pipeline.group_of(static_cast<int>(stage)).count != ranks) continue;
      const auto& [graph, held, local, schedule] = holder.stages[stage];
      for (size_t s = 0; s < graph.states.size(); ++s) {
        const auto own = places.find(graph.values[graph.states[s].entry].name);
        if (own == places.end()) continue;
        plan.inputs[program_.graph.inputs.size() + own->second] = held.inputs[graph.inputs.size() + s];
        if (held.regathered.contains(s)) plan.regathered.insert(own->second);
      }
    }
    cut_conversions_of_states(plan, program_.graph, *rules_);
  });
}

/// Splits the graph and its plans into those of each stage. Throws InvalidArgument if a plan does not fit the graph.
void Flow::split_into_stages() {
  program_.stages = passes_.stage(
      name_,
      [&] {
        std::vector<Plan> of_stages;
        for (const auto& [ranks, plan] : plans_) {
          if (has_stages()) verify(plan, program_.graph, ops_);
        }
        for (int stage = 0; stage < program_.assignment.stages; ++stage) {
          of_stages.push_back(plans_.at(program_.pipeline.group_of(stage).count));
        }
        std::vector<StageProgram> stages;
        for (StagePart& part : split_stages(program_.graph, *rules_, program_.assignment, of_stages)) {
          stages.push_back({.graph = std::move(part.graph), .plan = std::move(part.plan)});
        }
        return stages;
      },
      [&](const std::vector<StageProgram>& stages) {
        if (stages.size() == 1) return verify(stages[0].plan, stages[0].graph, ops_);
        for (const StageProgram& stage : stages) verify(stage.graph, ops_);
      },
      [&](const std::vector<StageProgram>& stages) {
        return text_of(stages, [&](const StageProgram& stage) { return print(stage.plan, stage.graph, ops_); });
      });
  plans_.clear();
}

void Flow::insert_reshard_nodes() {
  const ReshardOptions options{.partial_sums = passes_.runs(kPartialSums)};
  resharded_ = passes_.part(
      name_,
      [&] {
        std::vector<ReshardedGraph> graphs;
        for (const StageProgram& stage : program_.stages) {
          graphs.push_back(insert_reshards(stage.graph, ops_, stage.plan, options));
          graphs.back().sections = micro_sections(program_.assignment.stages, options_.plan.pipeline.order);
        }
        return graphs;
      },
      [&](const std::vector<ReshardedGraph>& graphs) {
        for (const ReshardedGraph& graph : graphs) verify(graph, ops_);
      },
      [&](const std::vector<ReshardedGraph>& graphs) {
        return text_of(program_.stages, [&](const StageProgram& stage) {
          return print(graphs[static_cast<size_t>(&stage - program_.stages.data())], ops_);
        });
      });
}

void Flow::partition_stages() {
  program_.stages = passes_.stage(
      name_,
      [&] {
        std::vector<StageProgram> stages = std::move(program_.stages);
        for (size_t k = 0; k < stages.size(); ++k) {
          stages[k].local = partition(std::move(resharded_[k]));
          round_reductions(stages[k].local, ops_, wire_of(options_));
        }
        return stages;
      },
      [&](const std::vector<StageProgram>& stages) {
        for (const StageProgram& stage : stages) verify(stage.local, ops_);
      },
      [&](const std::vector<StageProgram>& stages) {
        return text_of(stages, [&](const StageProgram& stage) { return print(stage.local, ops_); });
      });
  if (passes_.dumping()) write_ranks(passes_, program_, ops_);
}

/// Finds the point-to-point transfers between stages and the order in which each rank runs its stages. Throws
/// InvalidArgument for too many stages times micro-batches and for stages that need each other in a cycle.
void Flow::order_stages() {
  std::vector<const LocalGraph*> graphs;
  for (const StageProgram& stage : program_.stages) graphs.push_back(&stage.local);
  Pipeline& pipeline = program_.pipeline;
  pipeline.transfers = transfers_of(graphs);
  pipeline.shape.forward_only = is_forward();
  for (const LocalGraph* graph : graphs) pipeline.shape.times.push_back(estimated_times(*graph, ops_));
  pipeline.sequence = passes_.part(
      name_,
      [&] { return make_sequence(options_.plan.pipeline.order, pipeline.shape, dependencies_of(pipeline.transfers)); },
      [](const Sequence&) {}, [&](const Sequence& sequence) { return print(sequence, pipeline.shape); });
}

void Flow::schedule_stages() {
  ScheduleOptions options = options_.schedule;
  options.pack = options.pack && passes_.runs(kPackReductions);
  options.overlap = options.overlap && passes_.runs(kOverlapCollectives);
  const FoldingCatalog kernels(ops_, catalog_, passes_.runs(kFoldCasts));
  program_.stages = passes_.stage(
      name_,
      [&] {
        std::vector<StageProgram> stages = std::move(program_.stages);
        for (size_t k = 0; k < stages.size(); ++k) {
          const InFlight in_flight = in_flight_of(program_.pipeline, static_cast<int>(k), stages[k].local);
          stages[k].schedule = make_schedule(stages[k].local, ops_, kernels, options, in_flight, held_states(k));
        }
        return stages;
      },
      [&](const std::vector<StageProgram>& stages) {
        for (const StageProgram& stage : stages) verify(stage.schedule, stage.local);
        if (stages.size() > 1) verify(program_.pipeline, stages);
      },
      [&](const std::vector<StageProgram>& stages) {
        return text_of(stages, [&](const StageProgram& stage) { return print(stage.schedule, stage.local); });
      });
}

StateFormats Flow::held_states(size_t stage) const {
  if (!is_held()) return {};
  const StageProgram& holder = options_.holder->stages[stage];
  return state_formats(holder.schedule, holder.local);
}

}  // namespace

std::string print_stages(const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                         const std::function<std::string(const StageProgram&)>& print_one) {
  if (stages.size() == 1) return print_one(stages.front());
  std::string text;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const RankGroup& group = pipeline.group_of(static_cast<int>(stage));
    text += fmt::format("{}# stage {} of {}, ranks {} to {}\n{}", stage == 0 ? "" : "\n", stage, stages.size(),
                        group.first, group.first + group.count - 1, print_one(stages[stage]));
  }
  return text;
}

Program compile(const std::function<Graph()>& forward, const OpSet& ops, const KernelCatalog& catalog,
                const CompileOptions& options) {
  return Flow(forward, ops, catalog, options).run();
}

Program compile(const Graph& forward, const OpSet& ops, const KernelCatalog& catalog, const CompileOptions& options) {
  return compile([&] { return forward; }, ops, catalog, options);
}

}  // namespace partita
