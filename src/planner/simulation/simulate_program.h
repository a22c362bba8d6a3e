#pragma once
// Simulation of one step of a compiled program: when each instruction runs, what it waits for, and the memory in use.

#include <map>

#include "base/collective.h"
#include "planner/simulation/step_prices.h"

namespace partita {

/// An activity of the ranks of a group.
struct PredictedSpan {
  enum Kind { section, instruction, send, receive, verdict } kind = instruction;
  int stage = 0;
  size_t index = 0;  // number of the instruction or transfer; for a section, its enum value
  int64_t micro_batch = 0;
  int thread = 0;             // 0: compute thread; 1 + k: communication thread of the k-th stage of the group
  double begin = 0, end = 0;  // seconds from the start of the step
};

struct MemoryPoint {
  double seconds = 0;
  double bytes = 0;  // bytes in use from then on
};

/// The step of a group of ranks. `compute`, `exposed`, `bubble` and the overhead of the step add up to its seconds.
struct SimulatedGroup {
  double compute = 0;                      // seconds of computation
  std::map<Collective, double> exposed{};  // seconds of communication that no computation overlaps
  double bubble = 0;                       // seconds of waiting for other groups
  double peak_bytes = 0;                   // arena bytes of a rank, for all of its stages
  std::vector<MemoryPoint> memory{};       // bytes of the arena that hold values, by time; on request
  std::vector<PredictedSpan> spans{};      // on request
};

struct SimulatedStep {
  double seconds = 0;
  double overhead = 0;  // seconds of the step in which no group does anything
  std::vector<SimulatedGroup> groups;
  /// The average share of the step that a group waits for others, 0 to 1.
  double bubble() const;
};

struct SimulationOptions {
  bool spans = false, memory = false;  // whether the result includes them
};

/// Simulates one step. As in an executor, the schedules of the stages and the sequence of the pipeline decide the order
/// of each queue; `prices` decides how long each task takes. `stages` are those of the pipeline, which must be
/// verified.
SimulatedStep simulate_program(const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                               const StepPrices& prices, const SimulationOptions& options = {});

}  // namespace partita
