#pragma once
// From one sharding of a value to another: the cheapest sequence of moves, each of which is a collective or a slice.
//
// A shortest path over shardings, searched by A* (Hart, Nilsson, Raphael, 1968). Neighbours are made when they are
// needed; the states, tens of thousands on a few axes, are never listed. No state on the way is larger on a rank than
// the larger of both ends, unless no such way is found. docs/decisions/011 says how far the search goes.

#include <unordered_map>

#include "base/collective.h"
#include "sharding/sharding.h"

namespace partita {

struct Move {
  Collective kind = Collective::slice;
  Axes axes;        // that are cut by, gathered, moved or reduced over; permute: all that either side uses
  int dim = -1;     // that is cut, gathered, scattered into; all_to_all: that gives the axes up
  int to_dim = -1;  // all_to_all: that gets them
  Sharding result;
};

/// What sending costs over each sub-axis of a mesh. Groups over several axes pay what the slowest of them costs.
struct LinkCosts {
  std::vector<double> step;  // of a message, whatever its size
  std::vector<double> byte;  // of one byte
  /// Costs are bytes that a rank receives.
  static LinkCosts bytes(const Mesh& mesh);
};

/// What one move costs from a sharding: steps and bytes of the usual algorithms (ring, pairwise exchange).
double cost_of(const Move& move, const Type& type, const Sharding& from, const Mesh& mesh, const LinkCosts& costs);

class Resharder {
 public:
  Resharder(const Mesh& mesh, LinkCosts costs) : mesh_(mesh), costs_(std::move(costs)) {}
  explicit Resharder(const Mesh& mesh) : Resharder(mesh, LinkCosts::bytes(mesh)) {}

  struct Path {
    std::vector<Move> moves;
    double cost = 0;
  };
  /// The cheapest way, of equally cheap ones as a rule the one with the fewest moves; found once for each triple. `to`
  /// is partial over some of the axes that `from` is partial over, or over none.
  const Path& path(const Type& type, const Sharding& from, const Sharding& to);

 private:
  const Mesh& mesh_;
  LinkCosts costs_;
  std::unordered_map<std::string, Path> known_;
};

}  // namespace partita
