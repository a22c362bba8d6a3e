#pragma once
// Costs of computing and communicating that a search uses.

#include <optional>

#include "ir/sharding/move.h"

namespace partita {

/// Costs in seconds, or in another unit that all of them share. Those of a cluster follow from its description.
struct PlanCosts {
  LinkCosts links;  // costs of messages and bytes over each sub-axis of the mesh
  /// Link costs of reducing parameters' gradients if they differ, since these are packed and partly overlapped. None:
  /// `links`.
  std::optional<LinkCosts> gradient_links = std::nullopt;
  double flop_seconds = 0;  // per floating-point operation
  double byte_seconds = 0;  // per byte that a node reads or writes
  double state_share = 1;   // cost of a byte of a state that an update reads or writes, relative to `byte_seconds`
  double node_seconds = 0;  // per node started, whatever its size
  double kept_share = 1;    // share of the bytes of values kept for the backward pass that counts as memory of a rank

  /// Returns costs whose unit is a byte that a rank receives. In the same time a rank moves ten bytes in its memory or
  /// computes a thousand floating-point operations, as is usual for ranks that share a host or a fast network.
  /// A rank receives, and moves in its memory, `value_share` bytes for each byte that a value has in the graph. Of a
  /// parameter's gradient it receives `gradient_share` bytes for each.
  static PlanCosts bytes(const Mesh& mesh, double value_share = 1, double gradient_share = 1);
};

}  // namespace partita
