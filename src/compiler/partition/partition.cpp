#include "compiler/partition/partition.h"

#include <algorithm>

#include "compiler/partition/collectives.h"
#include "compiler/partition/prologue.h"
#include "compiler/partition/used_names.h"
#include "ir/sharding/micro.h"

namespace partita {
namespace {

/// Returns the exchange between neighbours that adds the rows of halos.
Move halo_move(const Sharding& from, const Sharding& to) {
  return {.kind = Collective::halo_exchange, .axes = halo_axes(from, to), .result = to};
}

/// Returns the reason in a collective's attributes: that of the reshard, or "reshard" for a move that neither reduces,
/// regathers nor exchanges halos.
std::string reason_of(Collective kind, const Node& node) {
  const std::string& reason = node.attrs.as<ReshardAttrs>().reason;
  const bool explains = reduces(kind) || kind == Collective::halo_exchange || reason == kRegather;
  return explains ? reason : "reshard";
}

/// Returns the move between two shardings: between ranks within a micro-batch, or else the slicing or joining of
/// micro-batches on each rank. None if there is no single move. Throws InternalError for any other move that changes
/// how micro-batches cut or share the value, such as one over ranks and micro-batches.
std::optional<Move> find_move(const Sharding& from, const Sharding& to, const Mesh& mesh) {
  if (micro_sharding(from, mesh) == micro_sharding(to, mesh)) {
    return move_between(within_micro_batch(from, mesh), within_micro_batch(to, mesh), mesh);
  }
  std::optional<Move> move = move_between(from, to, mesh);
  if (!move || move->kind == Collective::slice) return move;
  const bool joins = move->kind == Collective::all_reduce || move->kind == Collective::all_gather;
  PARTITA_CHECK(joins && move->axes == Axes{mesh.micro_axis()}, "{} over ranks and micro-batches", name_of(move->kind));
  move->kind = move->kind == Collective::all_reduce ? Collective::accumulate : Collective::stack;
  return move;
}

void lower(Node& node, LocalGraph& local, UsedNames& names) {
  const Sharding &from = local.shardings[node.inputs[0]], &to = local.shardings[node.outputs[0]];
  const std::optional<Move> found = adds_halos(from, to) ? halo_move(from, to) : find_move(from, to, local.mesh);
  PARTITA_CHECK(found, "{} is no single move", node.name);
  const Reduce reduce = reduces(found->kind) ? from.kind : Reduce::none;
  node.op = name_of(found->kind);
  node.attrs = Attrs(collective(local.mesh, *found, reduce, reason_of(found->kind, node)));
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
  return with_own_prologue(std::move(local));
}

}  // namespace partita
