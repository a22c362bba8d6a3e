#include "partition/collectives.h"

#include <algorithm>
#include <array>

namespace partita {

namespace {

constexpr std::array<const char*, 4> kNames{"all_reduce", "all_gather", "reduce_scatter", "slice_shard"};

std::vector<Type> infer_identity(const OpCall& call) {
  if (call.inputs.size() == 1) return call.inputs;
  throw InvalidArgument(fmt::format("[collective] wrong number of operands, got {}, expected 1", call.inputs.size()));
}

}  // namespace

bool is_collective(const Node& node) {
  return std::any_of(kNames.begin(), kNames.end(), [&](const char* name) { return node.op == name; });
}

OpSet with_collectives(const OpSet& ops) {
  std::vector<OpDef> all = ops.all();
  for (const char* name : kNames) {
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

CollectiveAttrs collective(const Mesh& mesh, const Axes& axes, int64_t dim, Reduce reduce, std::string reason) {
  CollectiveAttrs attrs{{}, dim, reduce, std::move(reason)};
  for (int axis : axes) attrs.axes.push_back(mesh.axes()[axis].name);
  return attrs;
}

}  // namespace partita
