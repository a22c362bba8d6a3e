#include "schedule/communications.h"

#include "partition/collectives.h"

namespace partita {
namespace {

/// How many kernels run between an instruction that starts a bucket and the one that waits for it.
int64_t kernels_behind(const Schedule& schedule, size_t start) {
  const auto computes = [](const Instruction& instruction) {
    return instruction.kind == Instruction::compute || instruction.kind == Instruction::accumulate;
  };
  int64_t kernels = 0;
  for (size_t i = start + 1; i < schedule.instructions.size(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    if (instruction.kind == Instruction::wait) break;  // for all that was started
    kernels += computes(instruction);
  }
  return kernels;
}

}  // namespace

std::vector<Communication> communications_of(const Schedule& schedule, const LocalGraph& local) {
  std::vector<Communication> result;
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    Communication one{.section = schedule.section_of(i), .last = instruction.last};
    if (instruction.kind == Instruction::collective) {
      const Node& node = local.graph.nodes[instruction.node];
      one.kind = *collective_of(node);
      if (is_local(one.kind)) continue;
      one.reduce = node.attrs.as<CollectiveAttrs>().reduce;
      one.axes = axes_of(node, local.mesh);
      one.bytes = local.largest(node.inputs[0]).bytes();
    } else if (instruction.kind == Instruction::reduce || instruction.kind == Instruction::start) {
      const Bucket& bucket = schedule.buckets[instruction.bucket];
      one.reduce = bucket.reduce;
      one.axes = bucket.axes;
      one.bytes = bucket.bytes;
      if (instruction.kind == Instruction::start) one.kernels = kernels_behind(schedule, i);
    } else {
      continue;
    }
    result.push_back(std::move(one));
  }
  return result;
}

}  // namespace partita
