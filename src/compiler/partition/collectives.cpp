#include "compiler/partition/collectives.h"

namespace partita {

std::optional<Collective> collective_of(const Node& node) { return collective_of(node.op); }

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
