#include "training/best_weights.h"

#include <cstring>

#include "ir/optimizers/averages.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/launch/outcome.h"
#include "training/training_run.h"

namespace partita {
namespace {

/// A part of a state that a stage of this rank holds.
struct ReadPart {
  StageExecutor& stage;
  std::string name;
  Array values;
};

std::vector<ReadPart> read_parts(RankRun& rank, const std::string& path) {
  CheckpointReader reader(path);
  std::vector<ReadPart> parts;
  for (const auto& stage : rank.executor().stages()) {
    const Graph& graph = stage->local().graph;
    for (const State& state : graph.states) {
      if (!is_weight(state.kind) && !is_average(graph, state)) continue;
      const std::string& name = graph.name_of(state);
      StatePart part = stage->state_part(name);
      reader.read(name, part.box, part.values.type().dtype, part.values.data());
      parts.push_back({*stage, name, std::move(part.values)});
    }
  }
  return parts;
}

}  // namespace

int64_t restore_best(const TrainingRun& run, RankRun& rank, int64_t best) {
  double known = rank.comm().rank() == 0 ? static_cast<double>(best) : -1;
  rank.comm().all_reduce(&known, 1, DType::f64, Reduce::max);
  const auto step = static_cast<int64_t>(known);
  std::vector<ReadPart> parts;
  RankOutcome outcome;
  if (step >= 0) {
    outcome = agreed(outcome_of([&] { parts = read_parts(rank, checkpoint_path(run.checkpoints->folder, step)); }),
                     rank.comm());
  }
  if (step < 0 || !outcome.is_good()) {
    if (rank.comm().rank() == 0 && run.warn) {
      run.warn(fmt::format("[--restore-best] the training ends with its last weights, got {}, expected the best ones",
                           step < 0 ? "no test while it ran" : outcome.error));
    }
    return -1;
  }
  for (ReadPart& part : parts) {
    part.stage.fill_state(part.name, [&](const Box&, DType, void* to) {
      std::memcpy(to, part.values.data(), static_cast<size_t>(part.values.type().bytes()));
    });
  }
  return step;
}

}  // namespace partita
