#include "partition/collectives.h"
#include "schedule/schedule.h"

namespace partita {
namespace {

std::string print_slots(const Schedule& schedule, const LocalGraph& local, const std::vector<int>& slots) {
  std::string text;
  for (int index : slots) {
    const Slot& slot = schedule.slots[index];
    text += fmt::format("{}%{}", text.empty() ? "" : ", ", local.graph.values[slot.value].name);
    if (!slot.layout.plain()) text += ":" + slot.layout.tag;
    text += fmt::format("@{}", slot.offset);
  }
  return text;
}

std::string print_instruction(const Schedule& schedule, const LocalGraph& local, const Instruction& instruction) {
  const std::string inputs = print_slots(schedule, local, instruction.inputs);
  const std::string outputs = print_slots(schedule, local, instruction.outputs);
  const std::string name = instruction.node >= 0 ? local.graph.nodes[instruction.node].name : "";
  switch (instruction.kind) {
    case Instruction::compute: return fmt::format("{} = {}({}) ; {}", outputs, instruction.choice.kernel, inputs, name);
    case Instruction::reorder: return fmt::format("{} = reorder({}) ; for {}", outputs, inputs, name);
    case Instruction::copy: return fmt::format("{} = copy({})", outputs, inputs);
    case Instruction::collective:
      return fmt::format("{} = {}({})", outputs, local.graph.nodes[instruction.node].op, inputs);
    case Instruction::reduce: return fmt::format("reduce bucket {}", instruction.bucket);
    case Instruction::start: return fmt::format("start bucket {}", instruction.bucket);
    case Instruction::wait: return fmt::format("wait bucket {}", instruction.bucket);
  }
  return "";
}

}  // namespace

std::string print(const Schedule& schedule, const LocalGraph& local) {
  std::string text = fmt::format("partita schedule 1\ngraph {}\narena {} kept {} scratch {}\n", local.graph.name,
                                 schedule.arena_bytes, schedule.state_bytes, schedule.scratch_bytes);
  for (size_t b = 0; b < schedule.buckets.size(); ++b) {
    const Bucket& bucket = schedule.buckets[b];
    text += fmt::format("bucket {} {} {} over {{{}}} bytes={} @{} of", b, name_of(bucket.reduce), name_of(bucket.dtype),
                        local.mesh.print(bucket.axes), bucket.bytes, bucket.offset);
    for (NodeId node : bucket.nodes) text += " " + local.graph.nodes[node].name;
    text += "\n";
  }
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    if (i == schedule.update) text += "update\n";
    text += print_instruction(schedule, local, schedule.instructions[i]) + "\n";
  }
  return text;
}

}  // namespace partita
