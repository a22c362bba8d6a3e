#pragma once
// All cuts of a node that a search compares, from its rule alone.

#include "ir/sharding/sharding.h"

namespace partita {

struct LegalCuts {
  bool expandable = false;  // the op has an expansion, so that its `expand` factors may be cut
  bool uneven = true;       // parts may differ by one
};

/// Every assignment of axes to factors, or to none, that is legal; the axes of a factor in the order of the mesh.
/// Windows are not cut. The first one cuts nothing.
std::vector<Cut> legal_cuts(const ShardingRule& rule, const Mesh& mesh, const LegalCuts& options);

}  // namespace partita
