#include "compiler/emit/replica_groups.h"

#include <fmt/ranges.h>

namespace partita {

ReplicaGroups replica_groups(const Mesh& mesh, const Axes& axes) {
  std::vector<std::vector<int>> groups;
  std::vector<bool> is_member(static_cast<size_t>(mesh.ranks()), false);
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    if (is_member[static_cast<size_t>(rank)]) continue;
    groups.push_back(mesh.group(rank, axes));
    for (const int member : groups.back()) is_member[static_cast<size_t>(member)] = true;
  }
  const auto ways = static_cast<int64_t>(groups[0].size());
  return {fmt::format("replica_groups = dense<{}> : tensor<{}x{}xi64>", groups, groups.size(), ways), ways};
}

}  // namespace partita
