#pragma once
// A move: one collective or slice that takes a value from a sharding to another, and its cost.

#include "base/collective.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// One step of a reshard.
struct Move {
  Collective kind = Collective::slice;
  Axes axes;        // axes cut by, gathered, moved or reduced over; permute: all that either side uses
  int dim = -1;     // dimension that is cut, gathered or scattered into; all_to_all: that gives up the axes
  int to_dim = -1;  // all_to_all: dimension that receives them
  Sharding result;
};

/// Returns the move from one sharding to another. Returns nothing if they are equal, if one has halos, or if no single
/// move leads there.
std::optional<Move> move_between(const Sharding& from, const Sharding& to, const Mesh& mesh);

/// Whether the shardings differ only in halos of `to` and in cuts of dimensions that are whole in `from` and get a
/// halo.
bool adds_halos(const Sharding& from, const Sharding& to);

/// Returns the axes over which neighbours exchange halo rows to get from `from` to `to`, which has halos, in ascending
/// order. A dimension that is whole in `from` takes no part: it has fewer rows than parts, and each rank keeps what it
/// needs.
Axes halo_axes(const Sharding& from, const Sharding& to);

/// Returns the axes that cut either sharding, in ascending order: those that a permute works over.
Axes cutting_axes(const Sharding& from, const Sharding& to);

/// Cost of sending over each sub-axis of a mesh. A group over several axes pays that of the slowest.
struct LinkCosts {
  std::vector<double> step;  // per message of any size
  std::vector<double> byte;  // per byte
  /// Returns costs that count the bytes a rank receives: 0 per message, 1 per byte.
  static LinkCosts bytes(const Mesh& mesh);
};

/// Returns the cost to one rank of a move from the sharding `from`, in the unit of `costs`: that of the messages that
/// it receives and of their bytes by the usual algorithms (ring, pairwise exchange). A slice costs 0. Throws
/// InternalError if `move.kind` is no move.
double cost_of(const Move& move, const Type& type, const Sharding& from, const Mesh& mesh, const LinkCosts& costs);

/// Returns the number of elements per rank of a value that `dims` cut, a fraction where sizes do not divide, so that
/// costs of moves add up exactly.
double local_elements(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh);
/// Returns the bytes of the `local_elements`.
double local_bytes(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh);

}  // namespace partita
