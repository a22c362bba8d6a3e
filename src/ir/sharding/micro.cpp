#include "ir/sharding/micro.h"

#include <algorithm>

namespace partita {

MicroSharding micro_sharding(const Sharding& sharding, const Mesh& mesh) {
  MicroSharding micro;
  const int axis = mesh.micro_axis();
  if (axis < 0) return micro;
  const auto has = [axis](const Axes& axes) { return std::ranges::find(axes, axis) != axes.end(); };
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    if (has(sharding.dims[d])) micro.dim = static_cast<int>(d);
  }
  if (has(sharding.partial)) micro.partial = sharding.kind;
  return micro;
}

Sharding within_micro_batch(Sharding sharding, const Mesh& mesh) {
  if (mesh.micro_axis() < 0) return sharding;
  for (Axes& axes : sharding.dims) std::erase(axes, mesh.micro_axis());
  std::erase(sharding.partial, mesh.micro_axis());
  if (sharding.partial.empty()) sharding.kind = Reduce::none;
  return sharding;
}

Sharding over_micro_batches(Sharding sharding, const MicroSharding& micro, const Mesh& mesh) {
  const int axis = mesh.micro_axis();
  if (micro.dim >= 0) sharding.dims[micro.dim].insert(sharding.dims[micro.dim].begin(), axis);
  if (micro.partial == Reduce::none) return sharding;
  PARTITA_CHECK(sharding.partial.empty() || sharding.kind == micro.partial, "partial by {} and {}",
                name_of(sharding.kind), name_of(micro.partial));
  sharding.kind = micro.partial;
  sharding.partial.push_back(axis);  // the last axis of the mesh, so the list stays sorted
  return sharding;
}

}  // namespace partita
