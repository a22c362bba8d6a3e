#pragma once
// All legal cuts of a node, from its sharding rule alone.

#include "ir/sharding/sharding.h"

namespace partita {

struct LegalCuts {
  bool expandable = false;  // whether the op has an expansion, so its `expand` factors may be cut
  bool uneven = true;       // whether parts may differ by one
};

/// Returns every legal assignment of axes to factors, or to none. The axes of a factor are in the order of the mesh.
/// Windows are not cut. The first cut returned cuts nothing.
std::vector<Cut> legal_cuts(const ShardingRule& rule, const Mesh& mesh, const LegalCuts& options);

}  // namespace partita
