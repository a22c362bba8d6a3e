#pragma once
// Finds the cheapest sequence of moves from one sharding of a value to another. Each move is a collective or a slice.
//
// The search is a shortest path over shardings by A* (Hart, Nilsson, Raphael, 1968). Neighbours are made on demand; the
// states, tens of thousands on a few axes, are never listed. No intermediate value needs more bytes per rank than the
// larger end, unless there is no such path. docs/decisions/011 says how far the search goes.

#include <unordered_map>

#include "ir/sharding/move.h"

namespace partita {

/// Searches and caches reshard paths on one mesh. Not thread-safe.
class Resharder {
 public:
  /// `mesh` must outlive this object. The second form counts bytes (LinkCosts::bytes).
  Resharder(const Mesh& mesh, LinkCosts costs) : mesh_(mesh), costs_(std::move(costs)) {}
  explicit Resharder(const Mesh& mesh) : Resharder(mesh, LinkCosts::bytes(mesh)) {}

  /// The moves in order and their total cost.
  struct Path {
    std::vector<Move> moves;
    double cost = 0;
  };
  /// Returns the cheapest path through states no larger per rank than the larger of both ends, or through any if none
  /// is found; among equally cheap ones usually the one with the fewest moves. On a mesh of many axes, and after
  /// kMaxMoves moves, the search may miss the cheapest. Equal ends give no moves and cost 0. The result is cached per
  /// type, `from` and `to`, and the reference stays valid. `to` may only be partial over axes that `from` is partial
  /// over.
  const Path& path(const Type& type, const Sharding& from, const Sharding& to);

 private:
  const Mesh& mesh_;
  LinkCosts costs_;
  std::unordered_map<std::string, Path> path_cache_;
};

}  // namespace partita
