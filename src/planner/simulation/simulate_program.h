#pragma once
// One step of a program as its schedules say it, followed on queues: what runs when, what waits for what, the memory.

#include <map>

#include "base/collective.h"
#include "planner/simulation/step_prices.h"

namespace partita {

/// Something that the ranks of a group do.
struct PredictedSpan {
  enum Kind { section, instruction, send, receive, verdict } kind = instruction;
  int stage = 0;
  size_t index = 0;  // of an instruction or a transfer; of a section that itself as a number
  int64_t micro_batch = 0;
  int thread = 0;             // 0: that computes; 1 + k: that communicates for the k-th stage of the group
  double begin = 0, end = 0;  // seconds from the start of the step
};

struct MemoryPoint {
  double seconds = 0;
  double bytes = 0;  // in use from then on
};

/// What a group of ranks does in a step. Compute, exposed, bubble and the step's overhead add up to its seconds.
struct SimulatedGroup {
  double compute = 0;                      // seconds
  std::map<Collective, double> exposed{};  // seconds in which it computes nothing because it communicates
  double bubble = 0;                       // seconds in which it waits for other groups
  double peak_bytes = 0;                   // of a rank: what the schedules of its stages take
  std::vector<MemoryPoint> memory{};       // of a rank: what of that holds values, by time
  std::vector<PredictedSpan> spans{};
};

struct SimulatedStep {
  double seconds = 0;
  double overhead = 0;  // of the step, beside what the groups do
  std::vector<SimulatedGroup> groups;
  /// The part of the time in which the average group waits for others.
  double bubble() const;
};

struct SimulationOptions {
  bool spans = false, memory = false;  // whether they are kept
};

/// The schedules of the stages and the sequence of the pipeline decide what runs in which order on which queue, as an
/// executor does; prices decide how long it takes. The pipeline is verified.
SimulatedStep simulate_program(const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                               const StepPrices& prices, const SimulationOptions& options = {});

}  // namespace partita
