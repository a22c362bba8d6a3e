#include "compile.h"

#include <algorithm>

#include "lowering/cut_micro_batches.h"
#include "partition/partition.h"
#include "partition/print_rank.h"
#include "partition/split_stages.h"
#include "pipeline/text.h"
#include "schedule/timeline.h"

namespace partita {
namespace {

/// Of ranks, that get as many stages each.
int64_t groups_of(int64_t stages, int64_t interleave) {
  if (interleave >= 1 && stages % interleave == 0) return stages / interleave;
  const int64_t each = std::max<int64_t>(1, interleave), below = stages / each * each;
  throw InvalidArgument(
      fmt::format("[stages] stages do not divide into groups of ranks, got {} with {} on each group, expected {}{} "
                  "stages, or --interleave 1",
                  stages, interleave, below > 0 ? fmt::format("{} or ", below) : "", below + each));
}

/// Of an order that is another one, or none; "" where it is what it says.
std::string warning_of_order(const PipelineOptions& options, int64_t stages) {
  if (stages == 1 && options.order != PipelineOptions{}.order) {
    return fmt::format("[--order] of no effect on one stage, got {}, expected it with --stages of 2 or more",
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

/// The stages one after another, each from what the ones before made.
class Flow {
 public:
  Flow(const OpSet& ops, const KernelCatalog& catalog, const CompileOptions& options)
      : ops_(ops), catalog_(catalog), options_(options), passes_(options.passes) {}

  Program run(const std::function<Graph()>& forward) {
    make_graph(forward);
    if (reaches(Stage::training)) make_training();
    if (reaches(Stage::plan)) make_plan();
    if (reaches(Stage::partition)) make_partition();
    if (reaches(Stage::schedule)) make_schedule();
    if (options_.last == Stage::schedule) passes_.check_names();
    program_.times = passes_.times();
    return std::move(program_);
  }

 private:
  bool reaches(Stage stage) const { return options_.last >= stage; }

  template <class Make>
  void graph_stage(const std::string& name, const Make& make) {
    program_.graph = passes_.stage(
        name, make, [&](const Graph& graph) { verify(graph, ops_); }, [](const Graph& graph) { return print(graph); });
  }

  void make_graph(const std::function<Graph()>& forward) {
    graph_stage("graph", [&] {
      Graph graph = forward();
      annotate_nodes(graph, options_.annotations);
      if (!options_.stages) mark_stages(graph, options_.plan.pipeline.marks);
      return graph;
    });
  }

  bool may_have_stages() const {
    const int64_t stages = options_.plan.pipeline.stages;
    return stages > 1 || (stages == 0 && std::any_of(program_.graph.nodes.begin(), program_.graph.nodes.end(),
                                                     [](const Node& node) { return node.stage > 0; }));
  }

  void make_training() {
    if (!options_.training) {
      program_.graph = passes_.optional("remove_dead_nodes", std::move(program_.graph), remove_dead_nodes);
      return;
    }
    graph_stage("training", [&] {
      TrainingGraph training = make_training_graph(program_.graph, ops_, *options_.training);
      program_.warnings = std::move(training.warnings);
      const bool in_parts = options_.plan.micro_batches > 1 || may_have_stages();
      return in_parts ? with_scalar_outputs(std::move(training.graph)) : std::move(training.graph);
    });
  }

  /// The stages of the pipeline, and how they are cut.
  void make_plan() {
    const PipelineOptions& options = options_.plan.pipeline;
    const Rules rules(program_.graph, ops_);
    StageAssignment& stages = program_.assignment;
    stages = options_.stages ? follow_stages(program_.graph, *options_.stages)
                             : assign_stages(program_.graph, rules, options.stages);
    Pipeline& pipeline = program_.pipeline;
    const int64_t groups = groups_of(stages.stages, options.interleave);
    std::string warning = options_.training ? warning_of_order(options, stages.stages) : "";
    if (!warning.empty()) program_.warnings.push_back(std::move(warning));
    const int64_t ranks = options_.mesh && groups == 1 ? options_.mesh->ranks() : options_.ranks;
    pipeline.groups = rank_groups(ranks, groups);
    pipeline.shape.groups.clear();
    for (int64_t stage = 0; stage < stages.stages; ++stage) {
      pipeline.shape.groups.push_back(static_cast<int>(stage % groups));
    }
    pipeline.shape.micro_batches = options_.training ? options_.plan.micro_batches : 1;
    program_.stages = passes_.stage(
        "plan", [&] { return plan_stages(rules); },
        [&](const std::vector<StageProgram>& stages) {
          if (stages.size() == 1) return verify(stages[0].plan, stages[0].graph, ops_);
          for (const StageProgram& stage : stages) verify(stage.graph, ops_);
        },
        [&](const std::vector<StageProgram>& stages) {
          return text_of(stages, [&](const StageProgram& stage) { return print(stage.plan, stage.graph, ops_); });
        });
  }

  /// One plan of the whole graph for each size of a group, from which its stages are taken.
  std::vector<StageProgram> plan_stages(const Rules& rules) {
    std::map<int64_t, Plan> plans;
    std::vector<Plan> of_stages;
    for (int stage = 0; stage < program_.assignment.stages; ++stage) {
      const int64_t ranks = program_.pipeline.group_of(stage).count;
      if (!plans.contains(ranks)) plans.emplace(ranks, plan_whole(rules, ranks));
      of_stages.push_back(plans.at(ranks));
    }
    if (plans.size() > 1) program_.cuts.reset();
    std::vector<StageProgram> stages;
    for (StagePart& part : split_stages(program_.graph, rules, program_.assignment, of_stages)) {
      stages.push_back({.graph = std::move(part.graph), .plan = std::move(part.plan)});
    }
    return stages;
  }

  Plan plan_whole(const Rules& rules, int64_t ranks) {
    const bool fits = options_.mesh && options_.mesh->ranks() == ranks;
    const Mesh mesh = fits ? *options_.mesh : make_mesh(program_.graph, ranks, options_.plan);
    std::string warning = options_.own_plan ? "" : ignored_annotations(program_.graph, mesh, options_.plan);
    if (!warning.empty()) program_.warnings.push_back(std::move(warning));
    Plan plan = options_.own_plan ? options_.own_plan(program_.graph, ranks)
                                  : partita::make_plan(program_.graph, rules, ops_, mesh, options_.plan);
    program_.cuts = plan;
    const PlanOptions& options = options_.plan;
    if (options.micro_batches != 1 || options.zero.level > 0) {
      const auto whole = plan.inputs;
      plan = shard_optimizer(std::move(plan), program_.graph, rules, options.zero);
      if (options.zero.level > 0 && plan.inputs == whole && program_.assignment.stages == 1) {
        program_.warnings.push_back(
            fmt::format("[--zero] of no effect, got level {} on {} ranks, expected ranks that share a batch and "
                        "parameters of {} bytes or more (--zero-threshold)",
                        options.zero.level, ranks, options.zero.threshold));
      }
      plan = cut_micro_batches(std::move(plan), program_.graph, rules, options.micro_batches);
    }
    if (options_.holder != nullptr) cut_as_held(plan, ranks);
    if (program_.assignment.stages > 1) verify(plan, program_.graph, ops_);
    return plan;
  }

  /// States of groups of so many ranks are cut as the program cuts them that holds them.
  void cut_as_held(Plan& plan, int64_t ranks) const {
    const Program& holder = *options_.holder;
    const auto places = program_.graph.states_by_name();
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
  }

  std::string text_of(const std::vector<StageProgram>& stages,
                      const std::function<std::string(const StageProgram&)>& print_one) const {
    return print_stages(program_.pipeline, stages, print_one);
  }

  void make_partition() {
    const auto options =
        passes_.optional("partial_sums", ReshardOptions{.partial_sums = false}, [](ReshardOptions partial) {
          partial.partial_sums = true;
          return partial;
        });
    std::vector<ReshardedGraph> resharded = passes_.part(
        "reshard",
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
    program_.stages = passes_.stage(
        "partition",
        [&] {
          std::vector<StageProgram> stages = std::move(program_.stages);
          for (size_t k = 0; k < stages.size(); ++k) stages[k].local = partition(std::move(resharded[k]));
          return stages;
        },
        [&](const std::vector<StageProgram>& stages) {
          for (const StageProgram& stage : stages) verify(stage.local, ops_);
        },
        [&](const std::vector<StageProgram>& stages) {
          return text_of(stages, [&](const StageProgram& stage) { return print(stage.local, ops_); });
        });
    if (passes_.dumping()) write_ranks();
    order_stages();
  }

  void write_ranks() const {
    for (size_t stage = 0; stage < program_.stages.size(); ++stage) {
      const RankGroup& group = program_.pipeline.group_of(static_cast<int>(stage));
      const std::string file = program_.stages.size() == 1 ? "partition.txt" : fmt::format("partition_{}.txt", stage);
      for (int64_t rank = 0; rank < group.count; ++rank) {
        passes_.write(fmt::format("rank_{}/{}", group.first + rank, file),
                      print_rank(program_.stages[stage].local, ops_, rank));
      }
    }
  }

  /// What stages send to one another, and when which of them runs.
  void order_stages() {
    if (program_.assignment.stages == 1) return;
    std::vector<const LocalGraph*> graphs;
    for (const StageProgram& stage : program_.stages) graphs.push_back(&stage.local);
    Pipeline& pipeline = program_.pipeline;
    pipeline.transfers = transfers_of(graphs);
    pipeline.shape.forward_only = !options_.training;
    for (const LocalGraph* graph : graphs) pipeline.shape.times.push_back(estimated_times(*graph, ops_));
    pipeline.sequence = passes_.part(
        "order",
        [&] {
          return make_sequence(options_.plan.pipeline.order, pipeline.shape, dependencies_of(pipeline.transfers));
        },
        [](const Sequence&) {}, [&](const Sequence& sequence) { return print(sequence, pipeline.shape); });
  }

  void make_schedule() {
    program_.stages = passes_.stage(
        "schedule",
        [&] {
          std::vector<StageProgram> stages = std::move(program_.stages);
          for (size_t k = 0; k < stages.size(); ++k) {
            const InFlight in_flight = in_flight_of(program_.pipeline, static_cast<int>(k), stages[k].local);
            stages[k].schedule =
                partita::make_schedule(stages[k].local, ops_, catalog_, options_.schedule, in_flight, held_states(k));
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

  StateFormats held_states(size_t stage) const {
    if (options_.holder == nullptr) return {};
    const StageProgram& holder = options_.holder->stages[stage];
    return state_formats(holder.schedule, holder.local);
  }

  const OpSet& ops_;
  const KernelCatalog& catalog_;
  const CompileOptions& options_;
  Passes passes_;
  Program program_;
};

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
  return Flow(ops, catalog, options).run(forward);
}

Program compile(const Graph& forward, const OpSet& ops, const KernelCatalog& catalog, const CompileOptions& options) {
  return compile([&] { return forward; }, ops, catalog, options);
}

}  // namespace partita
