#include "partition/partition.h"

#include <algorithm>

#include "partition/collectives.h"
#include "partition/used_names.h"

namespace partita {
namespace {

/// The exchange between neighbours that adds the rows of halos.
Move halo_move(const Sharding& from, const Sharding& to) {
  return {.kind = Collective::halo_exchange, .axes = halo_axes(from, to), .result = to};
}

/// What the attributes of a collective say of why it is there: of a move that does not reduce that it reshards.
std::string reason_of(Collective kind, const Node& node) {
  const bool explains = reduces(kind) || kind == Collective::halo_exchange;
  return explains ? node.attrs.as<ReshardAttrs>().reason : "reshard";
}

/// Over micro-batches the parts of one rank are brought together, in time.
Move in_time(Move move, const Mesh& mesh) {
  const int micro = mesh.micro_axis();
  if (micro < 0 || std::find(move.axes.begin(), move.axes.end(), micro) == move.axes.end()) return move;
  if (move.kind == Collective::slice) return move;
  PARTITA_CHECK(move.axes == Axes{micro}, "a move over ranks and micro-batches: {}", name_of(move.kind));
  PARTITA_CHECK(move.kind == Collective::all_reduce || move.kind == Collective::all_gather, "{} over micro-batches",
                name_of(move.kind));
  move.kind = move.kind == Collective::all_reduce ? Collective::accumulate : Collective::stack;
  return move;
}

void lower(Node& node, LocalGraph& local, UsedNames& names) {
  const Sharding &from = local.shardings[node.inputs[0]], &to = local.shardings[node.outputs[0]];
  const std::optional<Move> found = adds_halos(from, to) ? halo_move(from, to) : move_between(from, to, local.mesh);
  PARTITA_CHECK(found, "{} is no single move", node.name);
  const Move move = in_time(*found, local.mesh);
  const Reduce reduce = reduces(move.kind) ? from.kind : Reduce::none;
  node.op = name_of(move.kind);
  node.attrs = Attrs(collective(local.mesh, move, reduce, reason_of(move.kind, node)));
  node.name = names.make(local.graph.values[node.inputs[0]].name, node.op);
  local.graph.values[node.outputs[0]].name = node.name;
}

}  // namespace

LocalGraph partition(ReshardedGraph resharded) {
  LocalGraph local{std::move(resharded)};
  UsedNames names;
  const auto is_moved = [&](const ValueInfo& value) {
    return value.producer >= 0 && is_reshard(local.graph.nodes[value.producer]);
  };
  for (const ValueInfo& value : local.graph.values) {
    if (!is_moved(value)) names.add(value.name);
  }
  for (const Node& node : local.graph.nodes) {
    if (!is_reshard(node)) names.add(node.name);
  }
  for (Node& node : local.graph.nodes) {
    if (is_reshard(node)) lower(node, local, names);
  }
  return local;
}

}  // namespace partita
