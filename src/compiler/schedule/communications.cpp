#include "compiler/schedule/communications.h"

#include "compiler/partition/collectives.h"
#include "compiler/partition/exchange.h"

namespace partita {
namespace {

/// Number of kernels between an instruction that starts a bucket or a collective and the one that waits for it; those
/// up to the end of the schedule if none does.
int64_t kernels_until_wait(const Schedule& schedule, size_t start) {
  const auto computes = [](const Instruction& instruction) {
    return instruction.kind == Instruction::compute || instruction.kind == Instruction::accumulate;
  };
  int64_t kernels = 0;
  for (size_t i = start + 1; i < schedule.instructions.size(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    const bool same = instruction.bucket == schedule.instructions[start].bucket &&
                      (instruction.bucket >= 0 || instruction.node == schedule.instructions[start].node);
    if (instruction.kind == Instruction::wait && same) break;
    kernels += computes(instruction);
  }
  return kernels;
}

int64_t call_bytes(const LocalGraph& local, NodeId node, const Communication& one) {
  if (one.kind == Collective::all_gather) return local.largest(local.graph.nodes[node].outputs[0]).bytes();
  return reduces(one.kind) ? one.bytes : largest_staging(local, node).send;
}

}  // namespace

std::vector<Communication> communications_of(const Schedule& schedule, const LocalGraph& local) {
  std::vector<Communication> result;
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    Communication one{.section = schedule.section_of(i), .last = instruction.last};
    const bool starts_one = instruction.is_single_message() && instruction.kind == Instruction::start;
    if (instruction.kind == Instruction::collective || starts_one) {
      const Node& node = local.graph.nodes[instruction.node];
      one.kind = *collective_of(node);
      if (is_local(one.kind)) continue;
      one.reduce = node.attrs.as<CollectiveAttrs>().reduce;
      one.axes = axes_of(node, local.mesh);
      one.bytes = max_wire_bytes(local, node);
      one.call_bytes = call_bytes(local, instruction.node, one);
      one.dtype = node.attrs.as<CollectiveAttrs>().wire.value_or(local.largest(node.inputs[0]).dtype);
      if (starts_one) one.kernels = kernels_until_wait(schedule, i);
    } else if (instruction.kind == Instruction::reduce || instruction.kind == Instruction::start) {
      const Bucket& bucket = schedule.buckets[instruction.bucket];
      one.reduce = bucket.reduce;
      one.axes = bucket.axes;
      one.bytes = wire_bytes(bucket.bytes, bucket.dtype, bucket.wire);
      one.call_bytes = one.bytes;
      one.dtype = bucket.wire.value_or(bucket.dtype);
      if (instruction.kind == Instruction::start) one.kernels = kernels_until_wait(schedule, i);
    } else {
      continue;
    }
    result.push_back(std::move(one));
  }
  return result;
}

}  // namespace partita
