#include "partition/collectives.h"

#include <algorithm>
#include <array>

namespace partita {

namespace {

constexpr std::array kMoves{Move::slice,   Move::all_gather,     Move::all_to_all,
                            Move::permute, Move::reduce_scatter, Move::all_reduce};

std::vector<Type> infer_identity(const OpCall& call) {
  if (call.inputs.size() == 1) return call.inputs;
  throw InvalidArgument(fmt::format("[collective] wrong number of operands, got {}, expected 1", call.inputs.size()));
}

}  // namespace

bool is_collective(const Node& node) {
  return std::any_of(kMoves.begin(), kMoves.end(), [&](Move::Kind kind) { return node.op == name_of(kind); });
}

OpSet with_collectives(const OpSet& ops) {
  std::vector<OpDef> all = ops.all();
  for (Move::Kind kind : kMoves) {
    OpDef& op = all.emplace_back();
    op.name = name_of(kind);
    op.attrs = Attrs(CollectiveAttrs{});
    op.infer = infer_identity;
  }
  return OpSet(std::move(all));
}

Axes axes_of(const Node& node, const Mesh& mesh) {
  Axes axes;
  for (const std::string& name : node.attrs.as<CollectiveAttrs>().axes) axes.push_back(mesh.axis(name));
  return axes;
}

CollectiveAttrs collective(const Mesh& mesh, const Move& move, Reduce reduce, std::string reason) {
  CollectiveAttrs attrs{{}, move.dim, move.to_dim, reduce, std::move(reason)};
  for (int axis : move.axes) attrs.axes.push_back(mesh.axes()[axis].name);
  return attrs;
}

}  // namespace partita
