#pragma once
// How good a cut of a node is, given what is decided around it.

#include "compiler/search/known_shardings.h"
#include "ir/sharding/reshard.h"

namespace partita {

/// Lower is better, first by the first number.
struct CutScore {
  double moved = 0;     // bytes between the node and its decided neighbours
  double computed = 0;  // iteration-space size of one rank
  double later = 0;     // bytes that other decisions can still save
  int64_t unlike = 0;   // positions in which the numbers of parts differ from those of the neighbour

  bool operator<(const CutScore& other) const;
};

/// Whether the work of a node outweighs the traffic of its values.
bool is_compute_bound(const KnownShardings& known, size_t node);

class CutScorer {
 public:
  explicit CutScorer(const KnownShardings& known) : known_(known), resharder_(known.mesh()) {}

  /// Of a cut of a node that was reached from the neighbour `from`, or from itself.
  CutScore score(size_t node, const Cut& cut, size_t from);

 private:
  double moved(ValueId value, const Sharding& from, const Sharding& to);
  int64_t unlike(size_t node, const Cut& cut, size_t from) const;

  const KnownShardings& known_;
  Resharder resharder_;
};

}  // namespace partita
