#pragma once
// The tasks of a step of a program, as an executor runs them.

#include <map>

#include "compiler/schedule/timeline.h"
#include "planner/simulation/engine.h"
#include "planner/simulation/step_prices.h"

namespace partita {

/// What a task is in the program: instructions of a run, one behind the other, or a transfer. message: what a start
/// begins; wire: a transfer on the links.
struct ProgramTask {
  enum Kind { compute, collective, message, wait, send, wire, receive, verdict } kind = compute;
  int stage = 0;
  Section section = Section::once;
  int64_t micro_batch = 0;
  size_t begin = 0, end = 0;  // instructions; of a transfer its number in `begin`
  size_t run = 0;             // of the group
};

struct ProgramTasks {
  TaskGraph graph;
  std::vector<ProgramTask> tasks;      // those of the graph
  std::vector<std::vector<Run>> runs;  // per group, those of the update included
  std::vector<int> awaited;            // per task: of a wait its message, of a receive its wire or what sends; or -1
};

/// Group by group, in the order of its compute thread.
ProgramTasks tasks_of(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const StepPrices& prices);

/// Whether an instruction computes or copies; others communicate, or wait for what does.
bool computes(const Instruction& instruction, const LocalGraph& local);

}  // namespace partita
