#include "compiler/emit/id_checks.h"

#include <set>
#include <unordered_map>

#include "compiler/emit/segments.h"

namespace partita {
namespace {

/// Returns for each place whether a program writes it, or the device alone may have it: an external state.
std::vector<bool> device_places(const Segmenter& segmenter, const Schedule& schedule) {
  std::vector<bool> found(schedule.buffers.size(), false);
  for (const Instruction& instruction : schedule.instructions) {
    if (!segmenter.in_program(instruction)) continue;
    for (const int place : segmenter.writes_of(instruction)) found[static_cast<size_t>(place)] = true;
  }
  for (const int entry : schedule.entry) {
    if (schedule.is_external(entry)) found[static_cast<size_t>(segmenter.places()[static_cast<size_t>(entry)])] = true;
  }
  return found;
}

}  // namespace

void with_call(const Segmenter& segmenter, const LocalGraph& local, NodeId node,
               const std::vector<int64_t>& coordinates, const std::function<void(const OpCall&)>& use) {
  const auto types_of = [&](const std::vector<ValueId>& values) {
    std::vector<Type> types;
    for (const ValueId value : values) types.push_back(local.type(value, coordinates));
    return types;
  };
  const Attrs attrs = local.attrs(node, coordinates, segmenter.rules());
  const std::vector<Type> inputs = types_of(local.graph.nodes[node].inputs),
                          outputs = types_of(local.graph.nodes[node].outputs);
  use({attrs, inputs, outputs});
}

std::optional<int64_t> id_limit_of(const IdOperand& ids, const Segmenter& segmenter, const LocalGraph& local,
                                   NodeId node, const std::vector<int64_t>& coordinates) {
  std::optional<int64_t> limit;
  with_call(segmenter, local, node, coordinates, [&](const OpCall& call) { limit = ids.limit(call); });
  return limit;
}

std::vector<IdCheck> id_checks_of(const Segmenter& segmenter, const Schedule& schedule, const LocalGraph& local,
                                  const OpSet& ops) {
  const std::vector<int64_t> coordinates = local.mesh.coordinates(0);
  const std::vector<bool> is_on_device = device_places(segmenter, schedule);
  std::unordered_map<int, std::set<int64_t>> checked;  // limits by place
  std::vector<IdCheck> found;
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    if (instruction.kind == Instruction::compute && segmenter.in_program(instruction)) {
      const IdOperand& ids = ops.at(local.graph.nodes[instruction.node].op).traits.ids;
      if (ids.limit) {
        const int place = segmenter.places()[static_cast<size_t>(instruction.inputs[ids.operand])];
        const auto limit = id_limit_of(ids, segmenter, local, instruction.node, coordinates);
        if (limit && checked[place].insert(*limit).second) {
          found.push_back({i, place, is_on_device[static_cast<size_t>(place)]});
        }
      }
    }
    for (const int place : segmenter.writes_of(instruction)) checked.erase(place);
  }
  return found;
}

}  // namespace partita
