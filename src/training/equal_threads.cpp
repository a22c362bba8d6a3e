#include "training/equal_threads.h"

#include <algorithm>

namespace partita {
namespace {

/// Whether the instruction's kernel is one of oneDNN, in which the order of additions depends on the number of threads.
/// In all other kernels, the f64 ones among them, it does not.
bool depends_on_threads(const Instruction& instruction) { return instruction.choice.kernel.starts_with("onednn."); }

/// Whether no two ranks compute the same part of a node.
bool is_cut_by_all_ranks(const LocalGraph& local, NodeId node) {
  for (size_t axis = 0; axis < local.mesh.rank_axes(); ++axis) {
    const Cut& cut = local.cuts[static_cast<size_t>(node)];
    const bool is_used = std::ranges::any_of(
        cut, [&](const Axes& axes) { return std::ranges::find(axes, static_cast<int>(axis)) != axes.end(); });
    if (!is_used && local.mesh.axes()[axis].size > 1) return false;
  }
  return true;
}

}  // namespace

bool needs_equal_threads(const Program& program) {
  return std::ranges::any_of(program.stages, [](const StageProgram& stage) {
    return std::ranges::any_of(stage.schedule.instructions, [&](const Instruction& instruction) {
      return depends_on_threads(instruction) && !is_cut_by_all_ranks(stage.local, instruction.node);
    });
  });
}

}  // namespace partita
