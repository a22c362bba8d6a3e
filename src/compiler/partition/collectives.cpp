#include "compiler/partition/collectives.h"

namespace partita {

namespace {

std::vector<Type> infer_identity(const OpCall& call) {
  if (call.inputs.size() == 1) return call.inputs;
  throw InvalidArgument(fmt::format("[collective] wrong number of operands, got {}, expected 1", call.inputs.size()));
}

}  // namespace

std::optional<Collective> collective_of(const Node& node) { return collective_of(node.op); }

OpSet with_collectives(const OpSet& ops) {
  std::vector<OpDef> all = ops.all();
  for (size_t i = 0; i < kNodeCollectives; ++i) {
    OpDef& op = all.emplace_back();
    op.name = name_of(static_cast<Collective>(i));
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

std::string accumulating_op(Reduce reduce) {
  return reduce == Reduce::sum ? "add" : reduce == Reduce::max ? "maximum" : "minimum";
}

int64_t wire_bytes(int64_t buffer_bytes, DType dtype, std::optional<DType> wire) {
  return wire ? buffer_bytes / static_cast<int64_t>(size_of(dtype)) * static_cast<int64_t>(size_of(*wire))
              : buffer_bytes;
}

CollectiveAttrs collective(const Mesh& mesh, const Move& move, Reduce reduce, std::string reason) {
  CollectiveAttrs attrs{{}, move.dim, move.to_dim, reduce, std::move(reason)};
  for (int axis : move.axes) attrs.axes.push_back(mesh.axes()[axis].name);
  return attrs;
}

}  // namespace partita
