#include "compiler/partition/node_shardings.h"

#include <algorithm>

#include "compiler/partition/collectives.h"
#include "ir/sharding/micro.h"
#include "ir/sharding/move.h"

namespace partita {
namespace {

Axes joined(Axes axes, const Axes& more) {
  axes.insert(axes.end(), more.begin(), more.end());
  return axes;
}

/// Returns the sharding that the collective makes of `from`; a permute makes the cuts, a halo_exchange the halos of
/// `to`. Throws InternalError if the collective cannot apply to it, InvalidArgument if the mesh lacks one of its axes.
Sharding moved(const LocalGraph& local, const Node& node, const Sharding& from, const Sharding& to) {
  const auto& attrs = node.attrs.as<CollectiveAttrs>();
  const Axes axes = axes_of(node, local.mesh);
  const std::optional<Collective> kind = collective_of(node);
  const auto check_dim = [&](int64_t dim) {
    PARTITA_CHECK(dim >= 0 && dim < static_cast<int64_t>(from.dims.size()), "{}: dimension {} of {}", node.name, dim,
                  print(local.graph.type(node.inputs[0])));
  };
  PARTITA_CHECK(!joins_micro_batches(node) || axes == Axes{local.mesh.micro_axis()},
                "{} joins other than micro-batches", node.name);
  const int micro = local.mesh.micro_axis();
  PARTITA_CHECK(is_local(*kind) || micro < 0 || std::ranges::find(axes, micro) == axes.end(),
                "{} is over micro-batches, which no rank sends to another", node.name);
  Sharding expected = from;
  if (kind == Collective::halo_exchange) {
    PARTITA_CHECK(from.halos.empty() && to.halos.size() == to.dims.size(), "{} exchanges no halo", node.name);
    for (size_t d = 0; d < to.halos.size(); ++d) {
      if (to.halos[d] && from.dims[d].empty()) expected.dims[d] = to.dims[d];
    }
    expected.halos = to.halos;
    PARTITA_CHECK(axes == halo_axes(from, to), "{} exchanges halos over other axes than those that cut", node.name);
    return expected;
  }
  PARTITA_CHECK(from.halos.empty(), "{} moves a value with halos", node.name);
  if (kind == Collective::permute) {
    for (size_t d = 0; d < from.dims.size(); ++d) {
      PARTITA_CHECK(local.mesh.ways(from.dims[d]) == local.mesh.ways(to.dims[d]), "{} changes the size of dimension {}",
                    node.name, d);
    }
    expected.dims = to.dims;
    PARTITA_CHECK(axes == cutting_axes(within_micro_batch(from, local.mesh), within_micro_batch(to, local.mesh)),
                  "{} is over other axes than those that cut", node.name);
    return expected;
  }
  if (kind != Collective::all_reduce && kind != Collective::accumulate) check_dim(attrs.dim);
  if (kind && reduces(*kind)) {
    const auto is_reduced = [&](int axis) { return std::ranges::find(axes, axis) != axes.end(); };
    const auto kept = std::remove_if(expected.partial.begin(), expected.partial.end(), is_reduced);
    PARTITA_CHECK(expected.partial.end() - kept == static_cast<int64_t>(axes.size()) && from.kind == attrs.reduce,
                  "{} reduces what is not partial over its axes", node.name);
    expected.partial.erase(kept, expected.partial.end());
    if (expected.partial.empty()) expected.kind = Reduce::none;
  }
  if (kind == Collective::all_gather || kind == Collective::stack || kind == Collective::all_to_all) {
    const size_t kept = from.dims[attrs.dim].size() - std::min(axes.size(), from.dims[attrs.dim].size());
    expected.dims[attrs.dim].resize(kept);
    PARTITA_CHECK(joined(expected.dims[attrs.dim], axes) == from.dims[attrs.dim],
                  "{} gathers what is not cut by its axes", node.name);
  }
  if (kind == Collective::all_to_all) check_dim(attrs.to_dim);
  if (kind == Collective::reduce_scatter || kind == Collective::slice || kind == Collective::all_to_all) {
    const int64_t dim = kind == Collective::all_to_all ? attrs.to_dim : attrs.dim;
    expected.dims[dim] = joined(expected.dims[dim], axes);
  }
  return expected;
}

void verify_collective(const LocalGraph& local, const Node& node) {
  const std::optional<Collective> kind = collective_of(node);
  const bool can_round = kind == Collective::all_reduce || kind == Collective::reduce_scatter;
  const std::optional<DType> wire = node.attrs.as<CollectiveAttrs>().wire;
  PARTITA_CHECK(!wire || (can_round && *wire == DType::bf16 && local.graph.type(node.inputs[0]).dtype == DType::f32),
                "{} is sent in {}, which only a reduction of f32 is, in bf16", node.name, to_text(wire));
  const Sharding &from = local.shardings[node.inputs[0]], &to = local.shardings[node.outputs[0]];
  PARTITA_CHECK(to == moved(local, node, from, to), "{}: the result is not sharded as the collective leaves it",
                node.name);
}

}  // namespace

void verify_shardings(const LocalGraph& local, NodeId id, const Rules& rules) {
  const Node& node = local.graph.nodes[id];
  if (is_collective(node)) return verify_collective(local, node);
  verify_cut(local, id, rules);
}

}  // namespace partita
