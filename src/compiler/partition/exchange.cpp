#include "compiler/partition/exchange.h"

#include <algorithm>
#include <numeric>

#include "compiler/partition/collectives.h"
#include "ir/sharding/box_runs.h"

namespace partita {
namespace {

Box held_by(const LocalGraph& local, ValueId value, int64_t rank, int64_t micro_batch = 0) {
  return local_ranges(local.graph.type(value), local.shardings[value], local.mesh,
                      local.mesh.coordinates(rank, micro_batch));
}

/// Returns `inner` relative to the start of `outer`.
Box relative(const Box& inner, const Box& outer) {
  Box ranges;
  for (size_t d = 0; d < inner.size(); ++d) {
    ranges.push_back({inner[d].begin - outer[d].begin, inner[d].end - outer[d].begin, outer[d].count()});
  }
  return ranges;
}

/// Returns the common part of two boxes. Unlike `common_box`, an empty one still has a position.
Box intersection(const Box& a, const Box& b) {
  Box both;
  for (size_t d = 0; d < a.size(); ++d) {
    const int64_t begin = std::max(a[d].begin, b[d].begin);
    both.push_back({begin, std::max(begin, std::min(a[d].end, b[d].end)), a[d].size});
  }
  return both;
}

/// Returns the value with the larger shards: the result of an all_gather, the operand of a scatter.
ValueId coarser(const Node& node) { return performs(node, Collective::all_gather) ? node.outputs[0] : node.inputs[0]; }
ValueId finer(const Node& node) { return performs(node, Collective::all_gather) ? node.inputs[0] : node.outputs[0]; }

bool moves_boxes(const Node& node) {
  const auto kind = collective_of(node);
  return kind == Collective::all_to_all || kind == Collective::permute || kind == Collective::halo_exchange;
}
bool gathers_or_scatters(const Node& node) {
  return performs(node, Collective::all_gather) || performs(node, Collective::reduce_scatter);
}

/// Axes whose coordinates a permute exchanges. Each axis that cuts before and not after (`used`) is paired with one of
/// the same size that cuts after and not before (`free`), if there is one.
struct AxisPairs {
  std::vector<std::pair<int, int>> pairs;  // (free, used)
  Axes unpaired;                           // used axes without a partner
};

AxisPairs pair_axes(const Mesh& mesh, const Sharding& from, const Sharding& to) {
  const auto cuts = [](const Sharding& sharding, int axis) {
    return std::ranges::any_of(sharding.dims,
                               [&](const Axes& axes) { return std::ranges::find(axes, axis) != axes.end(); });
  };
  Axes free;
  AxisPairs result;
  Axes& used = result.unpaired;
  for (size_t a = 0; a < mesh.axes().size(); ++a) {
    const int axis = static_cast<int>(a);
    if (cuts(from, axis) && !cuts(to, axis)) used.push_back(axis);
    if (cuts(to, axis) && !cuts(from, axis)) free.push_back(axis);
  }
  for (int axis : free) {
    const auto same = [&](int other) { return mesh.axes()[other].size == mesh.axes()[axis].size; };
    const auto pair = std::ranges::find_if(used, same);
    if (pair == used.end()) continue;
    result.pairs.emplace_back(axis, *pair);
    used.erase(pair);
  }
  return result;
}

/// Returns the rank that sends `rank` its shard in a permute. Where several ranks hold the shard, receivers are spread
/// over them along the axes that `pair_axes` pairs.
int64_t permute_source(const Mesh& mesh, const Sharding& from, const Sharding& to, int64_t rank) {
  const std::vector<int64_t> here = mesh.coordinates(rank);
  std::vector<int64_t> there = here;
  for (const auto& [free, used] : pair_axes(mesh, from, to).pairs) there[free] = here[used];
  for (size_t d = 0; d < from.dims.size(); ++d) mesh.move_to(there, from.dims[d], mesh.index_on(here, to.dims[d]));
  return mesh.rank_of(there);
}

/// Returns the maximum number of rows of its part along one dimension that a rank sends in a halo_exchange. A row
/// counts once for every rank that needs it, its owner included. The dimension has `size` rows in `ways` parts.
int64_t max_given(const Halo& halo, int64_t size, int64_t ways) {
  std::vector<int64_t> given(ways, 0);
  for (int64_t taker = 0; taker < ways; ++taker) {
    const Range required = partita::required_range(halo.window, chunk(halo.factor, taker, ways), size);
    // Start at the part that holds the first row, or one before it.
    for (int64_t giver = size > 0 ? required.begin / ((size + ways - 1) / ways) : 0; giver < ways; ++giver) {
      const Range part = chunk(size, giver, ways);
      if (part.begin >= required.end) break;
      given[giver] += std::max<int64_t>(0, std::min(part.end, required.end) - std::max(part.begin, required.begin));
    }
  }
  return *std::ranges::max_element(given);
}

int64_t max_sent_halos(const LocalGraph& local, const Node& node) {
  const Sharding &from = local.shardings[node.inputs[0]], &to = local.shardings[node.outputs[0]];
  const Type own = local.largest(node.inputs[0]), result = local.largest(node.outputs[0]);
  int64_t bytes = static_cast<int64_t>(size_of(own.dtype));
  for (size_t d = 0; d < from.dims.size(); ++d) {
    if (!to.halos[d]) {
      bytes *= own.shape[d];
    } else if (from.dims[d].empty()) {  // every rank holds the whole dimension
      bytes *= result.shape[d];
    } else {
      bytes *= max_given(*to.halos[d], local.graph.type(node.inputs[0]).shape[d], local.mesh.ways(from.dims[d]));
    }
  }
  return bytes;
}

/// Whether the parts of a gather along `dim` interleave in memory: a dimension before it has more than one element.
bool interleaved(const Shape& shape, int64_t dim) {
  return std::any_of(shape.begin(), shape.begin() + dim, [](int64_t size) { return size > 1; });
}

/// Returns the staging of a gather or scatter whose coarser value has type `whole`. It holds that value, where a gather
/// receives it or a scatter sends it; it is empty if the parts do not interleave and have the type in which they are
/// sent.
Staging staging_of_parts(const Node& node, const Type& whole) {
  const auto& attrs = node.attrs.as<CollectiveAttrs>();
  if (attrs.wire) return {.send = wire_bytes(whole.bytes(), whole.dtype, attrs.wire)};
  if (!interleaved(whole.shape, attrs.dim)) return {};
  return performs(node, Collective::all_gather) ? Staging{.receive = whole.bytes()} : Staging{.send = whole.bytes()};
}

}  // namespace

Parts parts_of(const LocalGraph& local, NodeId id, int64_t rank) {
  const Node& node = local.graph.nodes[id];
  Parts parts;
  const Box outer = held_by(local, coarser(node), rank);
  for (int member : local.mesh.group(rank, axes_of(node, local.mesh))) {
    parts.ranges.push_back(relative(held_by(local, finer(node), member), outer));
    parts.counts.push_back(elements_of(parts.ranges.back()));
  }
  return parts;
}

Box slice_of(const LocalGraph& local, NodeId id, int64_t rank, int64_t micro_batch) {
  const Node& node = local.graph.nodes[id];
  return relative(held_by(local, node.outputs[0], rank, micro_batch),
                  held_by(local, node.inputs[0], rank, micro_batch));
}

Box stacked_at(const LocalGraph& local, NodeId id, int64_t rank, int64_t micro_batch) {
  const Node& node = local.graph.nodes[id];
  return relative(held_by(local, node.inputs[0], rank, micro_batch),
                  held_by(local, node.outputs[0], rank, micro_batch));
}

Exchange exchange_of(const LocalGraph& local, NodeId id, int64_t rank) {
  const Node& node = local.graph.nodes[id];
  const ValueId from = node.inputs[0], to = node.outputs[0];
  const auto source = [&](int64_t who) {
    return permute_source(local.mesh, local.shardings[from], local.shardings[to], who);
  };
  /// Box that `giver` sends to `taker`, in global indices; empty if it sends nothing.
  const auto sent = [&](int64_t giver, int64_t taker) {
    if (!performs(node, Collective::permute))
      return intersection(held_by(local, from, giver), held_by(local, to, taker));
    Box box = held_by(local, from, giver);
    for (Range& range : box) range.end = source(taker) == giver ? range.end : range.begin;
    return box;
  };
  Exchange exchange;
  for (int64_t member : local.mesh.group(rank, axes_of(node, local.mesh))) {
    exchange.send.push_back(relative(sent(rank, member), held_by(local, from, rank)));
    const Box got = sent(member, rank);
    // A shard that a permute moves has the same indices on both sides.
    exchange.receive.push_back(relative(got, elements_of(got) > 0 ? held_by(local, to, rank) : got));
    exchange.send_counts.push_back(elements_of(exchange.send.back()));
    exchange.receive_counts.push_back(elements_of(exchange.receive.back()));
  }
  return exchange;
}

int64_t max_wire_bytes(const LocalGraph& local, const Node& node) {
  const Type operand = local.largest(node.inputs[0]);
  return wire_bytes(operand.bytes(), operand.dtype, node.attrs.as<CollectiveAttrs>().wire);
}

Staging staging_of(const LocalGraph& local, NodeId id, int64_t rank) {
  const Node& node = local.graph.nodes[id];
  if (gathers_or_scatters(node)) {
    return staging_of_parts(node, local.type(coarser(node), local.mesh.coordinates(rank)));
  }
  if (!moves_boxes(node)) return {};
  const Exchange exchange = exchange_of(local, id, rank);
  const auto bytes_of = [&](const std::vector<int64_t>& counts) {
    const int64_t elements = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    return elements * static_cast<int64_t>(size_of(local.graph.type(node.inputs[0]).dtype));
  };
  return {.send = bytes_of(exchange.send_counts), .receive = bytes_of(exchange.receive_counts)};
}

bool can_round_in_place(const LocalGraph& local, NodeId id) {
  const Node& node = local.graph.nodes[id];
  if (!performs(node, Collective::reduce_scatter)) return false;
  const auto& attrs = node.attrs.as<CollectiveAttrs>();
  return attrs.wire && !interleaved(local.largest(node.inputs[0]).shape, attrs.dim);
}

Staging largest_staging(const LocalGraph& local, NodeId id) {
  const Node& node = local.graph.nodes[id];
  if (gathers_or_scatters(node)) return staging_of_parts(node, local.largest(coarser(node)));
  if (!moves_boxes(node)) return {};
  // A rank receives each element of its result once and sends each element of its operand once. It sends more in a
  // halo_exchange, and in a permute to ranks whose own copy no rank reads.
  Staging staging{.send = local.largest(node.inputs[0]).bytes(), .receive = local.largest(node.outputs[0]).bytes()};
  if (performs(node, Collective::halo_exchange)) staging.send = max_sent_halos(local, node);
  if (performs(node, Collective::permute)) {
    const Sharding &from = local.shardings[node.inputs[0]], &to = local.shardings[node.outputs[0]];
    staging.send *= local.mesh.ways(pair_axes(local.mesh, from, to).unpaired);
  }
  return staging;
}

}  // namespace partita
