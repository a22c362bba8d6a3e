#include "job/fused_attention.h"

#include <algorithm>

#include "compiler/emit/segments.h"
#include "ir/ops/registry.h"

namespace partita {

std::string warning_of_composed(const Program& program) {
  const auto may_be_fused = [](const Node& node) {
    const OpDef* op = all_ops().find(node.op);
    return op != nullptr && op->cudnn;
  };
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
