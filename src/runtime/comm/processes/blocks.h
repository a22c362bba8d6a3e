#pragma once
// A group that spans hosts, whose ranks on each host stand one behind the other.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace partita {

/// Contributions to a sum are then added host by host in group order: what a host adds to the sum of those before it
/// needs no more than that sum.
struct HostBlocks {
  std::vector<int> begins;  // the first rank of the group on each host, and the size of the group
  int own = 0;              // the block of this rank

  /// None for a group on one host, one whose hosts alternate, and one with a single rank on each. `keys`: of the host
  /// of each rank of the group.
  static std::optional<HostBlocks> of(std::span<const uint64_t> keys, int rank);

  int count() const { return static_cast<int>(begins.size()) - 1; }
  int begin() const { return begins[own]; }
  int size() const { return begins[own + 1] - begins[own]; }
  /// Ranks that each block has, so that they can share the work alike.
  int shares() const;
  /// Of the largest block.
  int most() const;
};

}  // namespace partita
