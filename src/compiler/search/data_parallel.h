#pragma once
// Data parallelism: every input is cut along its batch dimension, every state is replicated unless it is annotated
// layerwise, and the rest follows from the sharding rules.

#include <string_view>

#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

/// Returns the axes of the mesh other than `except`, without the last ones if a batch of `batch` rows has too few for
/// all of them.
Axes batch_axes(int64_t batch, const Mesh& mesh, const Axes& except = {});

/// Options of `data_parallel_plan`, which cuts a batch over all axes of the mesh or, if `uneven`, over as many as it
/// has rows for. It throws InvalidArgument if the batch does not divide and must be even, with the nearest batches that
/// do and `instead`, and if a layerwise parameter has fewer rows than ranks.
struct DataParallelOptions {
  bool uneven = false;
  std::string_view instead = "";  // the option under which a batch may be uneven, for messages
  bool layerwise = true;          // false: layerwise parameters are replicated like others
};
Plan data_parallel_plan(const Graph& graph, const Rules& rules, const Mesh& mesh,
                        const DataParallelOptions& options = {});

}  // namespace partita
