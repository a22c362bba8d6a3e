#pragma once
// Score of a cut of a node, given the decisions around it.

#include "compiler/search/known_shardings.h"
#include "ir/sharding/reshard.h"

namespace partita {

/// Score of a cut. Lower is better; earlier fields are compared first.
struct CutScore {
  double moved = 0;     // bytes that move between the node and its decided neighbours
  double computed = 0;  // iteration-space size on one rank
  double later = 0;     // bytes that other decisions can still avoid
  int64_t unlike = 0;   // positions in which the numbers of parts differ from the neighbour's

  bool operator<(const CutScore& other) const;
};

/// Whether the work of a node outweighs the traffic of its values: its iteration space is more than twice their
/// elements.
bool is_compute_bound(const KnownShardings& known, size_t node);

class CutScorer {
 public:
  explicit CutScorer(const KnownShardings& known) : known_(known), resharder_(known.mesh()) {}

  /// Returns the score of a cut of a node, given the known shardings. `from`: the neighbour from which the search
  /// reached the node, with whose cut `CutScore::unlike` compares; the node itself or an undecided one: 0.
  CutScore score(size_t node, const Cut& cut, size_t from);

 private:
  double moved(ValueId value, const Sharding& from, const Sharding& to);
  int64_t unlike(size_t node, const Cut& cut, size_t from) const;

  const KnownShardings& known_;
  Resharder resharder_;
};

}  // namespace partita
