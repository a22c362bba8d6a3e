#pragma once
// From one sharding of a value to another: the cheapest sequence of moves, each of which is a collective or a slice.
//
// A shortest path over shardings, searched by A* (Hart, Nilsson, Raphael, 1968). Neighbours are made when they are
// needed; the states, tens of thousands on a few axes, are never listed. No state on the way is larger on a rank than
// the larger of both ends, unless no such way is found. docs/decisions/011 says how far the search goes.

#include <unordered_map>

#include "ir/sharding/move.h"

namespace partita {

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
