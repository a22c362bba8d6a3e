#include "runtime/comm/processes/blocks.h"

#include <algorithm>
#include <set>

namespace partita {

std::optional<HostBlocks> HostBlocks::of(std::span<const uint64_t> keys, int rank) {
  HostBlocks blocks;
  std::set<uint64_t> seen;
  for (int r = 0; r < static_cast<int>(keys.size()); ++r) {
    if (r == 0 || keys[r] != keys[r - 1]) {
      if (!seen.insert(keys[r]).second) return std::nullopt;
      blocks.begins.push_back(r);
    }
    if (r == rank) blocks.own = static_cast<int>(blocks.begins.size()) - 1;
  }
  blocks.begins.push_back(static_cast<int>(keys.size()));
  if (blocks.count() < 2 || blocks.count() == static_cast<int>(keys.size())) return std::nullopt;
  return blocks;
}

int HostBlocks::shares() const {
  int least = begins.back();
  for (int i = 0; i < count(); ++i) least = std::min(least, begins[i + 1] - begins[i]);
  return least;
}

int HostBlocks::most() const {
  int most = 0;
  for (int i = 0; i < count(); ++i) most = std::max(most, begins[i + 1] - begins[i]);
  return most;
}

}  // namespace partita
