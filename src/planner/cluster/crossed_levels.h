#pragma once
// The levels of links that a group crosses, with the rates that it reaches there.

#include <cstddef>
#include <vector>

#include "planner/cluster/place.h"

namespace partita {

/// A level that a group crosses, with the rates that one protocol reaches there.
struct Crossed {
  size_t level = 0;
  double parts = 1;    // parts of the level that have members
  double inner = 1;    // members in one of these parts
  double latency = 0;  // seconds of a step
  double tree_latency = 0;
  double bandwidth = 0;  // bytes/s out of a part, for this group
  double reduce = 0;     // bytes/s of a rank if the level reduces in the network; 0: it does not
  double copy = 0;       // seconds per byte of copying a rank's own buffer
};

/// Returns the levels that the group crosses, innermost first, with the rates of protocol number `protocol`.
std::vector<Crossed> crossed_levels(const GroupPlace& place, const Cluster& cluster, size_t protocol);

/// Returns how many times 1 has to be doubled to reach at least `count`.
double rounds(double count);

}  // namespace partita
