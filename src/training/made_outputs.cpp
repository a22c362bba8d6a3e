#include "training/made_outputs.h"

#include <algorithm>

namespace partita {

const StageExecutor* stage_that_makes(const Program& program, const Executor& executor, std::string_view name) {
  const auto makes = [&](const Graph& graph) {
    return std::ranges::any_of(graph.outputs, [&](const Output& output) {
      return output.name == name && graph.values[static_cast<size_t>(output.value)].producer >= 0;
    });
  };
  for (const StageProgram& stage : program.stages) {
    if (!makes(stage.graph)) continue;
    const auto own = std::find_if(executor.stages().begin(), executor.stages().end(),
                                  [&](const auto& one) { return &one->local() == &stage.local; });
    return own == executor.stages().end() ? nullptr : own->get();
  }
  return nullptr;
}

bool is_first(const StageExecutor& stage) {
  return std::all_of(stage.coordinates().begin(), stage.coordinates().end(), [](int64_t at) { return at == 0; });
}

}  // namespace partita
