#include "job/fused_attention.h"

#include <algorithm>

#include "compiler/emit/segments.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

bool may_be_fused(const Node& node) {
  const OpDef* op = all_ops().find(node.op);
  return op != nullptr && op->cudnn;
}

/// Whether a value has 16 bits, or is made of one that has, as by a cast that the pass fold_casts folds into its
/// reader.
bool is_widened(const Graph& graph, ValueId value) {
  const NodeId producer = graph.values[value].producer;
  const bool has_operand = producer >= 0 && !graph.nodes[producer].inputs.empty();
  return is_half(graph.type(has_operand ? graph.nodes[producer].inputs[0] : value).dtype);
}

}  // namespace

bool composes_attention(const Program& program) {
  const bool fuses = std::ranges::any_of(program.stages, [](const StageProgram& stage) {
    return std::ranges::any_of(stage.schedule.instructions,
                               [](const Instruction& one) { return one.choice.kernel == kCudnnKernel; });
  });
  const Graph& graph = program.graph;
  return !fuses && std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return may_be_fused(node) && is_widened(graph, node.inputs[0]);
  });
}

std::string warning_of_composed(const Program& program) {
  const auto& nodes = program.graph.nodes;
  const int64_t all = std::ranges::count_if(nodes, may_be_fused);
  if (all == 0) {
    return "[--attention] has no effect, got fused for a network without attention that could be fused, expected "
           "composed "
           "or no --attention";
  }
  int64_t fused = 0;
  std::string example;
  for (const StageProgram& stage : program.stages) {
    for (const Instruction& instruction : stage.schedule.instructions) {
      if (instruction.kind != Instruction::compute) continue;
      const Node& node = stage.local.graph.nodes[instruction.node];
      if (!may_be_fused(node)) continue;
      if (instruction.choice.kernel == kCudnnKernel) {
        ++fused;
      } else if (example.empty()) {
        const bool is_sum = std::ranges::any_of(
            node.outputs, [&](ValueId output) { return !stage.local.shardings[output].partial.empty(); });
        example = fmt::format("{} in {}", is_sum ? "parts of sums over ranks" : instruction.choice.reason, node.name);
      }
    }
  }
  if (fused >= all) return "";
  return fmt::format(
      "[--attention] fused has no effect on {} of {} attentions and their gradients, got {}, expected 16 bits "
      "(--precision), heads of q and v of one width, a multiple of 8 up to 256, an even number of queries and keys, "
      "and ranks that have all of them",
      all - fused, all, example.empty() ? "keys that are split over ranks" : example);
}

}  // namespace partita
