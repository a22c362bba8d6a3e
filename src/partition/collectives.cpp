#include "partition/collectives.h"

#include <algorithm>
#include <array>

namespace partita {

namespace {

std::vector<std::string> names() {
  std::vector<std::string> names{kHaloExchange};
  for (Move::Kind kind :
       {Move::slice, Move::all_gather, Move::all_to_all, Move::permute, Move::reduce_scatter, Move::all_reduce}) {
    names.emplace_back(name_of(kind));
  }
  return names;
}

std::vector<Type> infer_identity(const OpCall& call) {
  if (call.inputs.size() == 1) return call.inputs;
  throw InvalidArgument(fmt::format("[collective] wrong number of operands, got {}, expected 1", call.inputs.size()));
}

}  // namespace

bool is_collective(const Node& node) {
  static const std::vector<std::string> all = names();
  return std::find(all.begin(), all.end(), node.op) != all.end();
}

OpSet with_collectives(const OpSet& ops) {
  std::vector<OpDef> all = ops.all();
  for (const std::string& name : names()) {
    OpDef& op = all.emplace_back();
    op.name = name;
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
