#pragma once
// The whole flow in one function.

#include "base/passes.h"
#include "compiler/autodiff/training_graph.h"
#include "compiler/plan/follow_stages.h"
#include "compiler/schedule/stage_program.h"
#include "compiler/search/make_plan.h"
#include "ir/graph/annotate_nodes.h"

namespace partita {

/// The stages of the flow, in their order.
enum class Stage { graph, training, plan, partition, schedule };

struct Program;

struct CompileOptions {
  int64_t ranks = 1;
  std::optional<Mesh> mesh = std::nullopt;  // of the ranks of a stage; none: as annotations and `plan` say
  PlanOptions plan = {};
  /// A plan of one's own for the graph that is run, on a stage's ranks, instead of the one that `plan` asks for.
  std::function<Plan(const Graph&, int64_t ranks)> own_plan = nullptr;
  std::vector<NodeAnnotation> annotations = {};  // in addition to those of the graph
  ScheduleOptions schedule = {};
  std::optional<TrainingOptions> training = std::nullopt;  // none: the forward graph as it is
  /// Of a forward graph: the stages of a training of its network, in place of those that `plan` asks for.
  std::optional<NamedStages> stages = std::nullopt;
  /// Of a forward graph: a program with the same stages on the same ranks whose executor holds the states. They are cut
  /// and lie as they do there, and those that are only read take no memory of this program.
  const Program* holder = nullptr;
  PassOptions passes = {};       // dumps, switched-off passes, timing
  Stage last = Stage::schedule;  // what comes after it is not made
};

/// What every rank of a job shares: immutable after compile. Stages behind the last one asked for are empty.
struct Program {
  Graph graph;                          // the whole step
  StageAssignment assignment;           // of the nodes and states of `graph` to stages
  std::vector<StageProgram> stages{1};  // of the pipeline; one of a program without
  /// How `graph` was cut, before the optimizer was sharded and micro-batches were made; none where groups of stages
  /// have different numbers of ranks.
  std::optional<Plan> cuts;
  Pipeline pipeline;
  std::vector<std::string> warnings;
  std::vector<PassTime> times;

  /// Of the only stage.
  const Plan& plan() const { return only().plan; }
  const LocalGraph& local() const { return only().local; }
  const Schedule& schedule() const { return only().schedule; }
  const StageProgram& only() const {
    PARTITA_CHECK(stages.size() == 1, "a program of {} stages, not of one", stages.size());
    return stages.front();
  }
};

/// What `print_one` writes of each stage, in their order; of several each under a line that names its ranks.
std::string print_stages(const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                         const std::function<std::string(const StageProgram&)>& print_one);

/// `forward` makes the graph, which is a stage as others are.
Program compile(const std::function<Graph()>& forward, const OpSet& ops, const KernelCatalog& catalog,
                const CompileOptions& options);
/// Of a graph that is there.
Program compile(const Graph& forward, const OpSet& ops, const KernelCatalog& catalog, const CompileOptions& options);

}  // namespace partita
