#include "compiler/search/search_tensor_cuts.h"

#include <algorithm>

#include "compiler/search/data_parallel.h"

namespace partita {
namespace {

using Dims = std::vector<Axes>;

/// Axes of a mesh that are joined into the only axis of another mesh.
class JoinedAxes {
 public:
  explicit JoinedAxes(Axes axes) : axes_(std::move(axes)) {}

  /// Returns the cuts of dimensions of the other mesh on this one: all joined axes for a dimension that is cut.
  Dims apart(Dims dims) const {
    for (Axes& list : dims) {
      if (!list.empty()) list = axes_;
    }
    return dims;
  }
  /// Returns the cuts of dimensions on the other mesh: axis 0 for a dimension that is cut over all joined axes. Cuts
  /// over axes that are not joined are dropped. Throws InvalidArgument for a dimension that is cut over some of the
  /// joined axes but not all.
  Dims together(const Dims& dims) const {
    Dims result(dims.size());
    for (size_t d = 0; d < dims.size(); ++d) {
      const auto is_in = [&](int axis) { return std::ranges::find(axes_, axis) != axes_.end(); };
      const auto count = static_cast<size_t>(std::ranges::count_if(dims[d], is_in));
      if (count == 0) continue;
      if (count < axes_.size()) {
        throw InvalidArgument(
            "[shard] an annotation cuts by some of the ranks that a search has as one, got {} of {} axes, expected all",
            count, axes_.size());
      }
      result[d] = {0};
    }
    return result;
  }

 private:
  Axes axes_;
};

/// Returns for each dimension its axes in `first`, then those in `second`.
Dims joined(Dims first, const Dims& second) {
  for (size_t d = 0; d < first.size(); ++d) first[d].insert(first[d].end(), second[d].begin(), second[d].end());
  return first;
}

PartialPlan together(PartialPlan partial, const JoinedAxes& axes) {
  for (Dims& dims : partial.inputs) dims = axes.together(dims);
  for (auto& dims : partial.states) {
    if (dims) dims = axes.together(*dims);
  }
  for (auto& cut : partial.cuts) {
    if (cut) cut = axes.together(*cut);
  }
  for (auto& [value, dims] : partial.results) dims = axes.together(dims);
  return partial;
}

/// Returns the sharding of a value under the plan that cuts the batch; inputs and states count as not cut.
Dims dims_of(ValueId value, const Graph& graph, const Rules& rules, const Plan& batch) {
  const NodeId producer = graph.values[value].producer;
  if (producer < 0) return Dims(static_cast<size_t>(graph.type(value).rank()));
  const auto& outputs = graph.nodes[producer].outputs;
  const size_t at = static_cast<size_t>(std::ranges::find(outputs, value) - outputs.begin());
  return dims_from_factors(rules[producer], batch.cuts[producer], rules[producer].outputs[at]);
}

}  // namespace

Mesh one_axis(const Mesh& mesh, const Axes& axes) {
  if (axes.empty()) return {};
  return Mesh::undivided({{"all", mesh.ways(axes)}});
}

PartialPlan search_tensor_cuts(const ForwardNodes& nodes, const Mesh& mesh, const Axes& tensor, const CutSearch& search,
                               PartialPlan partial) {
  const Graph& graph = nodes.graph();
  const Rules& rules = nodes.rules();
  Axes others;
  for (int axis = 0; axis < static_cast<int>(mesh.rank_axes()); ++axis) {
    if (std::ranges::find(tensor, axis) == tensor.end()) others.push_back(axis);
  }
  const JoinedAxes inner(tensor), outer(others);
  const PartialPlan found = search_cuts(nodes, one_axis(mesh, tensor), together(partial, inner), search).partial;
  std::optional<Plan> batch;  // over the other ranks
  if (!others.empty()) {
    batch = data_parallel_plan(graph, rules, one_axis(mesh, others), {.uneven = true, .layerwise = false});
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (partial.cuts[n] || !found.cuts[n]) continue;
    partial.cuts[n] = inner.apart(*found.cuts[n]);
    if (batch) partial.cuts[n] = joined(outer.apart(batch->cuts[n]), *partial.cuts[n]);
  }
  for (size_t s = 0; s < graph.states.size(); ++s) {
    if (!partial.states[s] && found.states[s]) partial.states[s] = inner.apart(*found.states[s]);
  }
  for (const auto& [value, dims] : found.results) {
    Dims placed = inner.apart(dims);
    if (batch) placed = joined(outer.apart(dims_of(value, graph, rules, *batch)), placed);
    partial.results.try_emplace(value, std::move(placed));
  }
  return partial;
}

}  // namespace partita
