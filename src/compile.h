#pragma once
// The whole flow in one function.

#include "autodiff/training_graph.h"
#include "base/passes.h"
#include "device/device.h"
#include "partition/local_graph.h"
#include "plan/make_plan.h"
#include "schedule/schedule.h"

namespace partita {

struct CompileOptions {
  PlanOptions plan;
  /// A plan of one's own for the graph that is run, instead of the one that `plan` asks for.
  std::function<Plan(const Graph&)> own_plan = nullptr;
  ScheduleOptions schedule;
  std::optional<TrainingOptions> training;  // none: the forward graph as it is
  PassOptions passes;                       // dumps, switched-off passes, timing
};

/// What every rank of a job shares: immutable after compile.
struct Program {
  Graph graph;
  Plan plan;
  LocalGraph local;
  Schedule schedule;
  std::vector<std::string> warnings;
};

Program compile(const Graph& forward, const OpSet& ops, const Mesh& mesh, const KernelCatalog& catalog,
                const CompileOptions& options);

}  // namespace partita
