#pragma once
// Compiles a forward graph to the programs of all ranks.

#include <utility>

#include "base/passes.h"
#include "compiler/autodiff/training_graph.h"
#include "compiler/plan/follow_stages.h"
#include "compiler/schedule/stage_program.h"
#include "compiler/search/make_plan.h"
#include "ir/graph/annotate_nodes.h"

namespace partita {

/// Stages of the compilation, in the order in which they run.
enum class Stage { graph, training, plan, partition, schedule };

struct Program;

struct CompileOptions {
  int64_t ranks = 1;
  std::optional<Mesh> mesh = std::nullopt;  // mesh of a stage's ranks; none: follows from annotations and `plan`
  PlanOptions plan = {};
  /// Makes the plan in place of the one that `plan` asks for, unless it is null. Called with the graph that runs
  /// (training included) once for each distinct number of ranks of a stage. What it throws reaches the caller of
  /// `compile`, which checks the plan.
  std::function<Plan(const Graph&, int64_t ranks)> own_plan = nullptr;
  std::vector<NodeAnnotation> annotations = {};  // in addition to those of the graph
  ScheduleOptions schedule = {};
  std::optional<TrainingOptions> training = std::nullopt;  // none: compile the forward graph alone
  PrecisionOptions precision = {};                         // precision of a forward graph alone; a training has one
  /// Pipeline stages of the training of the same network, in place of those that `plan` asks for. For a forward graph
  /// only.
  std::optional<NamedStages> stages = std::nullopt;
  /// Program with the same stages on the same ranks, whose executor holds the states. For a forward graph only. States
  /// are sharded and placed in memory as in the holder; those that are only read need no memory of this program. Must
  /// outlive the call of `compile`.
  const Program* holder = nullptr;
  PassOptions passes = {};       // dumps and passes that are switched off
  Stage last = Stage::schedule;  // the last stage that runs
};

/// Result of compilation, shared by all ranks of a job and immutable after `compile`. What stages after
/// `CompileOptions::last` would make is empty.
struct Program {
  Graph graph;                          // graph of the whole step
  StageAssignment assignment;           // pipeline stage of each node and state of `graph`
  std::vector<StageProgram> stages{1};  // per pipeline stage; one without a pipeline
  /// How `graph` is cut, before optimizer sharding and micro-batches. None if groups of stages have different numbers
  /// of ranks.
  std::optional<Plan> cuts;
  Pipeline pipeline;
  std::vector<std::string> warnings;
  std::vector<PassTime> times;

  /// Return the plan, the local graph or the schedule of the only stage, or (`only`) the stage itself; of a temporary
  /// program, which ends before a loop over a reference begins, they move them out. Each throws InternalError unless
  /// the program has exactly one stage.
  const Plan& plan() const& { return only().plan; }
  const LocalGraph& local() const& { return only().local; }
  const Schedule& schedule() const& { return only().schedule; }
  const StageProgram& only() const& {
    PARTITA_CHECK(stages.size() == 1, "a program of {} stages, not of one", stages.size());
    return stages.front();
  }
  Plan plan() && { return std::move(*this).only().plan; }
  LocalGraph local() && { return std::move(*this).only().local; }
  Schedule schedule() && { return std::move(*this).only().schedule; }
  StageProgram only() && {
    static_cast<void>(std::as_const(*this).only());
    return std::move(stages.front());
  }
};

/// Concatenates the texts that `print_one` returns for the stages, in order. If there are several, a line precedes
/// each, such as "# stage 0 of 2, ranks 0 to 3", with an empty line before it from the second on. Throws what
/// `print_one` throws.
std::string print_stages(const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                         const std::function<std::string(const StageProgram&)>& print_one);

/// Compiles the graph that `forward` returns, up to the stage `options.last`. Runs `forward` as the first stage, so
/// that it is timed and dumped like the others.
/// Throws InvalidArgument for a bad graph, options that the graph or the ranks do not allow, `options.passes` with an
/// unknown pass or one that cannot be switched off, and if `catalog` lacks a kernel. Throws
/// RuntimeFailure(cannot_write) if a dump fails, and what `forward`, `catalog` (RuntimeFailure(out_of_memory)) and the
/// functions in `options` throw.
Program compile(const std::function<Graph()>& forward, const OpSet& ops, const KernelCatalog& catalog,
                const CompileOptions& options);
/// Compiles a copy of `forward`. Throws as the other overload does.
Program compile(const Graph& forward, const OpSet& ops, const KernelCatalog& catalog, const CompileOptions& options);

}  // namespace partita
