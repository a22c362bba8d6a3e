#include "compiler/emit/emit_collective.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "compiler/emit/emit_rounded.h"
#include "compiler/emit/padded_values.h"
#include "compiler/emit/replica_groups.h"
#include "compiler/emit/uneven_shards.h"
#include "compiler/partition/collectives.h"
#include "compiler/partition/exchange.h"

namespace partita {
namespace {

Type operand_type(const LocalGraph& local, const Node& node, int64_t rank) {
  return local.type(node.inputs[0], local.mesh.coordinates(rank));
}

/// Returns the sizes of `boxes` along one dimension if they are pieces of a shard there, one after another; else
/// nothing.
std::optional<std::vector<int64_t>> pieces_of(const std::vector<Box>& boxes, int64_t dim) {
  std::vector<int64_t> sizes;
  int64_t at = 0;
  for (const Box& box : boxes) {
    for (int64_t d = 0; d < static_cast<int64_t>(box.size()); ++d) {
      const Range& range = box[static_cast<size_t>(d)];
      if (d == dim ? range.begin != at : !range.whole()) return std::nullopt;
    }
    sizes.push_back(box[static_cast<size_t>(dim)].count());
    at += sizes.back();
  }
  if (at != boxes[0][static_cast<size_t>(dim)].size) return std::nullopt;
  return sizes;
}

/// Sizes of the pieces of operands, which are scattered, and of results, which are gathered.
struct Pieces {
  PieceSizes scattered{}, gathered{};  // by rank
};

/// Returns the pieces that a collective moves; nothing if it moves others.
std::optional<Pieces> pieces_of(const LocalGraph& local, NodeId id, Collective kind) {
  const auto& attrs = local.graph.nodes[id].attrs.as<CollectiveAttrs>();
  Pieces pieces;
  const auto add = [](PieceSizes& to, const std::vector<Box>& boxes, int64_t dim) {
    std::optional<std::vector<int64_t>> sizes = pieces_of(boxes, dim);
    if (sizes) to.push_back(std::move(*sizes));
    return sizes.has_value();
  };
  const Node& node = local.graph.nodes[id];
  const bool is_even = !is_padded(local, node.inputs[0]) && !is_padded(local, node.outputs[0]);
  for (int64_t rank = 0; rank < (is_even ? 1 : local.mesh.ranks()); ++rank) {
    bool are_pieces = true;
    if (kind == Collective::all_to_all) {
      const Exchange exchange = exchange_of(local, id, rank);
      are_pieces =
          add(pieces.scattered, exchange.send, attrs.to_dim) && add(pieces.gathered, exchange.receive, attrs.dim);
    } else {
      const bool gathers = kind == Collective::all_gather;
      are_pieces = add(gathers ? pieces.gathered : pieces.scattered, parts_of(local, id, rank).ranges, attrs.dim);
    }
    if (!are_pieces) return std::nullopt;
  }
  return pieces;
}

/// Returns the rank from which each rank receives its whole result in a permute; empty if some rank receives parts, or
/// some rank sends to several.
std::vector<int64_t> sources_of(const LocalGraph& local, NodeId id) {
  const Node& node = local.graph.nodes[id];
  if (local.largest(node.inputs[0]) != local.largest(node.outputs[0])) return {};
  const Axes axes = axes_of(node, local.mesh);
  std::vector<int64_t> sources;
  std::vector<bool> sends(static_cast<size_t>(local.mesh.ranks()), false);
  for (int64_t rank = 0; rank < local.mesh.ranks(); ++rank) {
    const Exchange exchange = exchange_of(local, id, rank);
    const std::vector<int> group = local.mesh.group(rank, axes);
    const Type result = local.type(node.outputs[0], local.mesh.coordinates(rank));
    const int64_t all = result.elements();
    const auto whole = std::ranges::find(exchange.receive_counts, all);
    const auto received = std::ranges::count_if(exchange.receive_counts, [](int64_t count) { return count > 0; });
    if (received != 1 || whole == exchange.receive_counts.end()) return {};
    const int source = group[static_cast<size_t>(whole - exchange.receive_counts.begin())];
    // One operation sends the operand of a rank, all of it, to one other rank.
    if (sends[static_cast<size_t>(source)] || operand_type(local, node, source) != result) return {};
    sends[static_cast<size_t>(source)] = true;
    sources.push_back(source);
  }
  return sources;
}

bool can_write(const LocalGraph& local, NodeId id, Collective kind) {
  switch (kind) {
    case Collective::all_reduce:
    case Collective::slice: return true;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return pieces_of(local, id, kind).has_value();
    case Collective::permute: return !sources_of(local, id).empty();
    default: return false;
  }
}

/// Writes a collective with the region that adds, or takes the larger or smaller of, two scalars.
Hlo reduced(HloBody& body, std::string_view op, const std::string& details, Reduce reduce, const Hlo& operand,
            const Type& result) {
  const std::string scalar = hlo_type({operand.type.dtype, {}});
  const std::string joins = accumulating_op(reduce);  // StableHLO has the same name
  return body.add(fmt::format("\"{}\"({}) <{{{}}}> ({{\n    ^bb0(%one: {}, %other: {}):\n"
                              "      %both = stablehlo.{} %one, %other : {}\n      stablehlo.return %both : {}\n"
                              "    }}) : ({}) -> {}",
                              op, operand.name, details, scalar, scalar, joins, scalar, scalar, hlo_type(operand.type),
                              hlo_type(result)),
                  result);
}

/// Writes the part of `x` that each rank keeps. The operand is made longer if it ends before the longest part would.
Hlo sliced(HloBody& body, const LocalGraph& local, NodeId id, const Hlo& x, const Type& result) {
  std::vector<Box> boxes;
  for (int64_t rank = 0; rank < local.mesh.ranks(); ++rank) boxes.push_back(slice_of(local, id, rank));
  std::string starts, types;
  Shape room = x.type.shape;
  for (size_t d = 0; d < result.shape.size(); ++d) {
    std::vector<int64_t> begins;
    for (const Box& box : boxes) begins.push_back(box[d].begin);
    room[d] = std::max(room[d], std::ranges::max(begins) + result.shape[d]);
    starts += ", " + emit_by_rank(body, begins).name;
    types += ", tensor<i32>";
  }
  const Hlo operand = emit_extended(body, x, room);
  return body.add(
      fmt::format("\"stablehlo.dynamic_slice\"({}{}) <{{slice_sizes = array<i64: {}>}}> : ({}{}) -> {}", operand.name,
                  starts, fmt::join(result.shape, ", "), hlo_type(operand.type), types, hlo_type(result)),
      result);
}

/// Returns `type` with `ways` times its size along a dimension.
Type times(Type type, int64_t dim, int64_t ways) {
  type.shape[static_cast<size_t>(dim)] *= ways;
  return type;
}

}  // namespace

std::optional<std::string> refusal_of_whole(const LocalGraph& local) {
  for (size_t id = 0; id < local.graph.nodes.size(); ++id) {
    const Node& node = local.graph.nodes[id];
    if (!is_emitted_collective(node, local.mesh) || can_write(local, static_cast<NodeId>(id), *collective_of(node)))
      continue;
    return fmt::format("{} ({}) moves parts that no operation of StableHLO moves", node.name, node.op);
  }
  return std::nullopt;
}

void require_whole(const LocalGraph& local) {
  const std::optional<std::string> refusal = refusal_of_whole(local);
  if (!refusal) return;
  throw InvalidArgument(
      "[collectives] ranks that cannot run one program, got a graph in which {}, expected another plan, or "
      "--collectives cut",
      *refusal);
}

bool is_emitted_collective(const Node& node, const Mesh& mesh) {
  const std::optional<Collective> kind = collective_of(node);
  if (!kind || joins_micro_batches(*kind)) return false;
  const Axes axes = axes_of(node, mesh);
  return mesh.micro_axis() < 0 || std::ranges::find(axes, mesh.micro_axis()) == axes.end();
}

Hlo emit_collective(HloBody& body, const LocalGraph& local, NodeId id, const Hlo& operand, const Type& result) {
  const Node& node = local.graph.nodes[id];
  const auto& attrs = node.attrs.as<CollectiveAttrs>();
  const Collective kind = *collective_of(node);
  if (kind == Collective::slice) return sliced(body, local, id, operand, result);
  const ReplicaGroups of_mesh = replica_groups(local.mesh, axes_of(node, local.mesh));
  const std::string& groups = of_mesh.text;
  const auto typed = [&](std::string_view op, const Hlo& given, const std::string& details, const Type& type) {
    return body.add(
        fmt::format("\"{}\"({}) <{{{}}}> : ({}) -> {}", op, given.name, details, hlo_type(given.type), hlo_type(type)),
        type);
  };
  const auto size_of_result = [&](int64_t dim) { return result.shape[static_cast<size_t>(dim)]; };
  switch (kind) {
    case Collective::all_gather: {
      const Hlo gathered =
          typed("stablehlo.all_gather", operand, fmt::format("all_gather_dim = {} : i64, {}", attrs.dim, groups),
                times(operand.type, attrs.dim, of_mesh.ways));
      return emit_joined(body, gathered, attrs.dim, pieces_of(local, id, kind)->gathered, size_of_result(attrs.dim));
    }
    case Collective::all_to_all: {
      const Pieces pieces = *pieces_of(local, id, kind);
      const Hlo spread = emit_spread(body, operand, attrs.to_dim, pieces.scattered, size_of_result(attrs.to_dim));
      Type type = times(operand.type, attrs.dim, of_mesh.ways);
      type.shape[static_cast<size_t>(attrs.to_dim)] = size_of_result(attrs.to_dim);
      const Hlo moved =
          typed("stablehlo.all_to_all", spread,
                fmt::format("concat_dimension = {} : i64, {}, split_count = {} : i64, split_dimension = {} : i64",
                            attrs.dim, groups, of_mesh.ways, attrs.to_dim),
                type);
      return emit_joined(body, moved, attrs.dim, pieces.gathered, size_of_result(attrs.dim));
    }
    case Collective::permute: {
      const std::vector<int64_t> sources = sources_of(local, id);
      std::vector<std::array<int64_t, 2>> pairs;
      for (size_t rank = 0; rank < sources.size(); ++rank) pairs.push_back({sources[rank], static_cast<int64_t>(rank)});
      return typed("stablehlo.collective_permute", operand,
                   fmt::format("source_target_pairs = dense<{}> : tensor<{}x2xi64>", pairs, pairs.size()), result);
    }
    default: break;
  }
  PARTITA_CHECK(kind == Collective::all_reduce || kind == Collective::reduce_scatter, "{} in a program", node.op);
  const bool scatters = kind == Collective::reduce_scatter;
  const Hlo spread = !scatters ? operand
                               : emit_spread(body, operand, attrs.dim, pieces_of(local, id, kind)->scattered,
                                             size_of_result(attrs.dim));
  if (attrs.wire) {
    return scatters ? emit_rounded_reduce_scatter(body, of_mesh, *attrs.wire, spread, attrs.dim, result)
                    : emit_rounded_all_reduce(body, of_mesh, *attrs.wire, {spread})[0];
  }
  return reduced(body, scatters ? "stablehlo.reduce_scatter" : "stablehlo.all_reduce",
                 groups + (scatters ? fmt::format(", scatter_dimension = {} : i64", attrs.dim) : ""), attrs.reduce,
                 spread, result);
}

std::vector<Hlo> emit_all_reduces(HloBody& body, const LocalGraph& local, const std::vector<NodeId>& ids,
                                  const std::vector<Hlo>& operands) {
  const Node& first = local.graph.nodes[ids.at(0)];
  if (const std::optional<DType> wire = first.attrs.as<CollectiveAttrs>().wire) {
    return emit_rounded_all_reduce(body, replica_groups(local.mesh, axes_of(first, local.mesh)), *wire, operands);
  }
  std::vector<Hlo> results;
  for (size_t i = 0; i < ids.size(); ++i) {
    results.push_back(emit_collective(body, local, ids[i], operands[i], operands[i].type));
  }
  return results;
}

Hlo emit_on_all_ranks(HloBody& body, const Mesh& mesh, const Hlo& flag) {
  Axes axes(mesh.rank_axes());
  std::iota(axes.begin(), axes.end(), 0);
  const Type number{DType::i32, {}};
  const Hlo own = body.add_typed("stablehlo.convert", {flag}, "", number);
  const Hlo all = reduced(body, "stablehlo.all_reduce", replica_groups(mesh, axes).text, Reduce::min, own, number);
  return body.add_typed("stablehlo.convert", {all}, "", flag.type);
}

Hlo emit_by_rank(HloBody& body, const std::vector<int64_t>& values, DType dtype) {
  const Type scalar{dtype, {}}, one{dtype, {1}}, all{dtype, {static_cast<int64_t>(values.size())}};
  if (std::ranges::all_of(values, [&](int64_t value) { return value == values[0]; })) {
    return body.add(fmt::format("stablehlo.constant dense<{}> : {}", values[0], hlo_type(scalar)), scalar);
  }
  const Hlo table = body.add(fmt::format("stablehlo.constant dense<{}> : {}", values, hlo_type(all)), all);
  const Hlo rank = body.add("stablehlo.replica_id : tensor<ui32>", {DType::u32, {}});
  const Hlo found = body.add(fmt::format("\"stablehlo.dynamic_slice\"({}, {}) <{{slice_sizes = array<i64: 1>}}> : ({}, "
                                         "tensor<ui32>) -> {}",
                                         table.name, rank.name, hlo_type(all), hlo_type(one)),
                             one);
  return body.add_typed("stablehlo.reshape", {found}, "", scalar);
}

}  // namespace partita
