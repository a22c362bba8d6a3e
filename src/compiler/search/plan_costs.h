#pragma once
// What computing and sending costs, as far as a search has to know.

#include <optional>

#include "ir/sharding/move.h"

namespace partita {

/// In seconds, or in whatever unit all of them share. Those of a cluster are filled from its description.
struct PlanCosts {
  LinkCosts links;  // of messages and bytes over each sub-axis of the mesh
  /// The same for sums of parameters' gradients where these cost otherwise: they are sent many at a time and in part
  /// beside other work.
  std::optional<LinkCosts> gradient_links = std::nullopt;
  double flop_seconds = 0;  // of a floating-point operation
  double byte_seconds = 0;  // of a byte that a node reads or writes
  double node_seconds = 0;  // of starting a node, whatever its size
  double kept_share = 1;    // of the bytes of values that the backward reads, in those of a rank's memory

  /// The unit is a byte that a rank receives; in its time a rank moves ten bytes in its memory and computes a thousand
  /// floating-point operations, as is usual for ranks that share a host or a fast network.
  static PlanCosts bytes(const Mesh& mesh);
};

}  // namespace partita
