#pragma once
// Groups that span hosts, in which the ranks of each host are consecutive.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/collective_algorithm.h"

namespace partita {

/// The ranks of each host in such a group. Contributions can be summed host by host in group order: what a host adds
/// needs only the sum over the earlier hosts.
struct HostBlocks {
  std::vector<int> begins;  // first group rank on each host, then the size of the group
  int own = 0;              // index of this rank's host

  /// Returns the blocks of a group, given the host key of each of its ranks; `rank` is this rank in the group. None if
  /// the group is on one host, if the ranks of a host are not consecutive, or if each host has a single rank.
  static std::optional<HostBlocks> of(std::span<const uint64_t> keys, int rank);

  /// Returns how a group with these blocks lies on hosts, given that the ranks of each share memory.
  RankSpread spread() const { return {begins.back(), count(), shares(), most()}; }
  /// Returns the number of hosts.
  int count() const { return static_cast<int>(begins.size()) - 1; }
  /// Returns the first group rank on this host.
  int begin() const { return begins[own]; }
  /// Returns the number of the group's ranks on this host.
  int size() const { return begins[own + 1] - begins[own]; }
  /// Returns the size of the smallest block: the number of ranks by which every host can share the work equally.
  int shares() const;
  /// Returns the size of the largest block.
  int most() const;
};

}  // namespace partita
