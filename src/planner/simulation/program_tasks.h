#pragma once
// The tasks of a step of a program, in the order of an executor.

#include "compiler/schedule/timeline.h"
#include "planner/simulation/engine.h"
#include "planner/simulation/step_prices.h"

namespace partita {

/// The meaning of a task in the program: consecutive instructions of a run, or a transfer. A message is the collective
/// that a start instruction begins; a wire is a transfer on the links.
struct ProgramTask {
  enum Kind { compute, collective, message, wait, send, wire, receive, verdict } kind = compute;
  int stage = 0;
  Section section = Section::once;
  int64_t micro_batch = 0;
  size_t begin = 0, end = 0;  // range of instructions; for a transfer, `begin` is its number
  size_t run = 0;             // index among the runs of the group
};

struct ProgramTasks {
  TaskGraph graph;
  std::vector<ProgramTask> tasks;      // in the order of the graph
  std::vector<std::vector<Run>> runs;  // per group, including those of the update
  std::vector<int> awaited;            // per task: message of a wait, wire or send of a receive; else -1
};

/// Builds the tasks of a step, group by group, in the order of the group's compute thread. Throws InternalError if a
/// value is received that no stage sends.
ProgramTasks tasks_of(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const StepPrices& prices);

/// Whether an instruction computes or copies within its rank, rather than communicates or waits for communication.
bool computes(const Instruction& instruction, const LocalGraph& local);

}  // namespace partita
