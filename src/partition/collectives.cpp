#include "partition/collectives.h"

#include <algorithm>
#include <array>

namespace partita {

bool is_collective(const Node& node) {
  constexpr std::array<std::string_view, 4> names{"all_reduce", "all_gather", "reduce_scatter", "slice_shard"};
  return std::find(names.begin(), names.end(), node.op) != names.end();
}

Axes axes_of(const Node& node, const Mesh& mesh) {
  Axes axes;
  for (const std::string& name : node.attrs.as<CollectiveAttrs>().axes) {
    for (size_t a = 0; a < mesh.axes().size(); ++a) {
      if (mesh.axes()[a].name == name) axes.push_back(static_cast<int>(a));
    }
  }
  return axes;
}

CollectiveAttrs collective(const Mesh& mesh, const Axes& axes, int64_t dim, Reduce reduce, std::string reason) {
  CollectiveAttrs attrs{{}, dim, reduce, std::move(reason)};
  for (int axis : axes) attrs.axes.push_back(mesh.axes()[axis].name);
  return attrs;
}

}  // namespace partita
