#pragma once
// One move of a value from a sharding to another, and what it costs.

#include "base/collective.h"
#include "ir/sharding/sharding.h"

namespace partita {

struct Move {
  Collective kind = Collective::slice;
  Axes axes;        // that are cut by, gathered, moved or reduced over; permute: all that either side uses
  int dim = -1;     // that is cut, gathered, scattered into; all_to_all: that gives the axes up
  int to_dim = -1;  // all_to_all: that gets them
  Sharding result;
};

/// The move that leads from a sharding to another without halos; none when that takes no move, or more than one.
std::optional<Move> move_between(const Sharding& from, const Sharding& to, const Mesh& mesh);

/// Whether shardings differ by the halos of the second alone, or by cuts of dimensions that get halos and were whole.
bool adds_halos(const Sharding& from, const Sharding& to);

/// The axes, in order, over which neighbours exchange the rows of halos. A dimension of fewer rows than parts takes no
/// part: its operand is whole, and each rank keeps what it needs.
Axes halo_axes(const Sharding& from, const Sharding& to);

/// The axes, in order, that cut either: those that a permute works over.
Axes cutting_axes(const Sharding& from, const Sharding& to);

/// What sending costs over each sub-axis of a mesh. Groups over several axes pay what the slowest of them costs.
struct LinkCosts {
  std::vector<double> step;  // of a message, whatever its size
  std::vector<double> byte;  // of one byte
  /// Costs are bytes that a rank receives.
  static LinkCosts bytes(const Mesh& mesh);
};

/// What one move costs from a sharding: steps and bytes of the usual algorithms (ring, pairwise exchange).
double cost_of(const Move& move, const Type& type, const Sharding& from, const Mesh& mesh, const LinkCosts& costs);

/// Elements that a rank holds, as a fraction where sizes do not divide, so that costs of moves add up exactly.
double local_elements(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh);
double local_bytes(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh);

}  // namespace partita
