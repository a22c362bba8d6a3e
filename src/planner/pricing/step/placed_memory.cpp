#include "planner/pricing/step/placed_memory.h"

#include <algorithm>

#include "compiler/partition/collectives.h"

namespace partita {
namespace {

/// Classifies the values of a stage: those that a micro-batch keeps for its backward pass, and gradients that the
/// update reads, including their unreduced forms.
struct ValueKinds {
  std::vector<bool> is_kept, is_gradient;

  explicit ValueKinds(const LocalGraph& local)
      : is_kept(local.graph.values.size(), false), is_gradient(local.graph.values.size(), false) {
    const Graph& graph = local.graph;
    const std::vector<Phase> phases = phases_of(local);
    std::vector<bool> is_backward(graph.values.size(), false);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ValueId output : graph.nodes[n].outputs) is_backward[output] = phases[n] == Phase::backward;
    }
    for (const Input& input : graph.inputs) is_kept[input.value] = true;
    for (size_t n = graph.nodes.size(); n-- > 0;) {
      const Node& node = graph.nodes[n];
      const bool reduces = collective_of(node).has_value() && is_gradient[node.outputs[0]];
      for (const ValueId input : node.inputs) {
        if (is_backward[input] && (phases[n] == Phase::update || reduces)) is_gradient[input] = true;
        const bool is_made = graph.values[input].producer >= 0;
        if (is_made && !is_backward[input] && phases[n] == Phase::backward) is_kept[input] = true;
      }
    }
  }
};

StageMemory placed_memory(const StageProgram& stage) {
  const Schedule& schedule = stage.schedule;
  const ValueKinds kinds(stage.local);
  const std::vector<int> roots = roots_of(schedule);
  StageMemory memory;
  std::vector<bool> is_counted(schedule.buffers.size(), false);
  const auto count = [&](double& part, size_t buffer) {
    const auto root = static_cast<size_t>(roots[buffer]);
    if (!is_counted[root] && !schedule.is_external(roots[buffer]))
      part += static_cast<double>(schedule.buffers[root].bytes_of_all());
    is_counted[root] = true;
  };
  for (size_t s = 0; s < schedule.entry.size(); ++s) {
    const bool is_optimizer = stage.local.graph.states[s].kind == StateKind::optimizer;
    count(is_optimizer ? memory.optimizer : memory.parameters, static_cast<size_t>(schedule.entry[s]));
  }
  double activations = 0, gradients = 0;
  for (size_t buffer = 0; buffer < schedule.buffers.size(); ++buffer) {
    const ValueId value = schedule.buffers[buffer].value;
    if (kinds.is_kept[value]) count(activations, buffer);
    if (kinds.is_gradient[value]) count(gradients, buffer);
  }
  // A value in several memory formats does not occupy all of them at once.
  double rest = static_cast<double>(schedule.arena_bytes) - memory.total();
  rest -= memory.activations = std::min(rest, activations);
  rest -= memory.gradients = std::min(rest, gradients);
  memory.workspace = rest;
  return memory;
}

}  // namespace

std::vector<StageMemory> placed_memory(const Program& program) {
  std::vector<StageMemory> memory(program.pipeline.groups.size());
  for (size_t s = 0; s < program.stages.size(); ++s) {
    memory[static_cast<size_t>(program.pipeline.shape.groups[s])].add(placed_memory(program.stages[s]));
  }
  return memory;
}

}  // namespace partita
