#include "runtime/execute/instruction_places.h"

#include <numeric>

namespace partita {

int64_t InstructionPlaces::count(size_t stage) const {
  return static_cast<int64_t>(stages_[stage].schedule.instructions.size());
}

int64_t InstructionPlaces::of(size_t stage, size_t instruction) const {
  const StageProgram& program = stages_[stage];
  const NodeId node = program.schedule.instructions[instruction].node;
  const bool is_backward = node >= 0 && program.local.graph.nodes[node].phase == Phase::backward;
  auto place = static_cast<int64_t>(instruction);
  for (size_t other = 0; other < stages_.size(); ++other) {
    if (other < stage || is_backward) place += count(other);
    if (other > stage && is_backward) place += count(other);
  }
  return place;
}

/// The stage and the instruction at a place.
std::pair<size_t, size_t> InstructionPlaces::at(int64_t place) const {
  std::vector<size_t> order(2 * stages_.size());
  std::iota(order.begin(), order.end() - static_cast<std::ptrdiff_t>(stages_.size()), 0);
  std::iota(order.rbegin(), order.rend() - static_cast<std::ptrdiff_t>(stages_.size()), 0);
  size_t at = 0;
  for (; place >= count(order[at]); ++at) place -= count(order[at]);
  return {order[at], static_cast<size_t>(place)};
}

std::string InstructionPlaces::describe(std::optional<int64_t> place) const {
  if (!place) return "every node was finite when it was replayed: a sum over ranks or micro-batches was not";
  const auto [stage, instruction] = at(*place);
  const StageProgram& program = stages_[stage];
  const Node& node = program.local.graph.nodes[program.schedule.instructions[instruction].node];
  return fmt::format("first made by {} ({}{}{}{})", node.name, node.op, node.scope.empty() ? "" : " in " + node.scope,
                     node.source.file.empty() ? "" : fmt::format(" at {}:{}", node.source.file, node.source.line),
                     stages_.size() == 1 ? "" : fmt::format(" on stage {}", stage));
}

}  // namespace partita
