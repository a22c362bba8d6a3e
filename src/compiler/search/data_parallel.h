#pragma once
// Data parallelism: every input is cut along its batch dimension, every state is replicated except for those that are
// annotated layerwise, and the rest follows through the rules.

#include <string_view>

#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

/// As many axes of a mesh as a batch has rows for, but for those that serve something else.
Axes batch_axes(int64_t batch, const Mesh& mesh, const Axes& except = {});

/// A batch is cut by all axes of the mesh, with `uneven` by as many as it has rows for. Throws InvalidArgument when it
/// does not divide by the ranks and may not be uneven, naming the nearest that do and `instead`.
struct DataParallelOptions {
  bool uneven = false;
  std::string_view instead = "";  // the option under which a batch may be uneven, for messages
  bool layerwise = true;          // false: parameters that are annotated so are replicated like others
};
Plan data_parallel_plan(const Graph& graph, const Rules& rules, const Mesh& mesh,
                        const DataParallelOptions& options = {});

}  // namespace partita
