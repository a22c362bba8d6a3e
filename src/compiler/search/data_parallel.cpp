#include "compiler/search/data_parallel.h"

#include <algorithm>
#include <numeric>

#include "compiler/plan/complete_plan.h"

namespace partita {
namespace {

void require_even(int64_t batch, const Mesh& mesh, std::string_view instead) {
  const int64_t ranks = mesh.ranks();
  if (batch % ranks == 0) return;
  const int64_t below = batch / ranks * ranks;
  const std::string nearest = below > 0 ? fmt::format("{} or {}", below, below + ranks) : fmt::format("{}", ranks);
  throw InvalidArgument(
      "[plan] the global batch does not divide, got batch {} on {} ranks, expected a multiple of {}: {}{}{}", batch,
      ranks, ranks, nearest, instead.empty() ? "" : ", or ", instead);
}

/// Returns the sharding of a state: its layerwise dimension split over the axes `all`, or replicated if it has none or
/// `all` is empty. Throws InvalidArgument if that dimension has fewer rows than the mesh has ranks.
std::vector<Axes> layerwise(const Graph& graph, const State& state, const Mesh& mesh, const Axes& all) {
  const Type& type = graph.type(state.entry);
  std::vector<Axes> dims(type.shape.size());
  if (state.layerwise < 0 || all.empty()) return dims;
  if (type.shape[state.layerwise] < mesh.ranks()) {
    throw InvalidArgument(
        "[plan] layerwise parameter '{}' has fewer rows than ranks, got dimension {} of {} on {} ranks, expected {} or "
        "more",
        graph.values[state.entry].name, state.layerwise, print(type), mesh.ranks(), mesh.ranks());
  }
  dims[state.layerwise] = all;
  return dims;
}

Axes all_axes(const Mesh& mesh) {
  Axes all(mesh.axes().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

Axes batch_axes(int64_t batch, const Mesh& mesh, const Axes& except) {
  Axes axes = all_axes(mesh);
  std::erase_if(axes, [&](int axis) { return std::ranges::find(except, axis) != except.end(); });
  while (!axes.empty() && mesh.ways(axes) > batch) axes.pop_back();
  return axes;
}

Plan data_parallel_plan(const Graph& graph, const Rules& rules, const Mesh& mesh, const DataParallelOptions& options) {
  const Axes all = all_axes(mesh);
  PartialPlan partial(graph);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId value = graph.inputs[i].value;
    const int batch_dim = graph.inputs[i].batch_dim;
    if (batch_dim < 0) continue;
    const int64_t batch = graph.type(value).shape[batch_dim];
    if (!options.uneven) require_even(batch, mesh, options.instead);
    partial.inputs[i][batch_dim] = batch_axes(batch, mesh);
  }
  for (size_t s = 0; s < graph.states.size(); ++s) {
    const State& state = graph.states[s];
    if (state.kind == StateKind::optimizer) continue;
    partial.states[s] = layerwise(graph, state, mesh, options.layerwise ? all : Axes{});
  }
  return complete_plan(graph, rules, mesh, "data", std::move(partial));
}

}  // namespace partita
