#pragma once
// The neighbours of a sharding in a search for a reshard, made when they are asked for.

#include <map>

#include "ir/sharding/axis_runs.h"

namespace partita {

constexpr int64_t kMaxMoves = 200'000;  // that a search looks at before it gives up

class ReshardMoves {
 public:
  /// Axes move in `runs`. `exact`: also every subset of the axes that can be reduced over, and every permutation of
  /// the axes (each a run of its own then), not only the one that comes nearest to the target.
  ReshardMoves(const ReshardEnds& ends, const std::vector<Axes>& runs, bool exact)
      : ends_(ends), runs_(runs), exact_(exact) {}

  /// The moves from a sharding that was reached at the cost `paid`, none of which cuts a dimension into more parts
  /// than it has elements. Permutes that could only lead to paths of `limit` and more may be left out.
  std::vector<Move> from(const Sharding& now, double paid, double limit);
  /// How many moves were made.
  int64_t count() const { return count_; }

 private:
  void add_slices(const Sharding& now);
  void add_gathers(const Sharding& now);
  void add_reductions(const Sharding& now);
  void add_permutes(const Sharding& now, double paid, double limit);
  void add(Collective kind, Axes axes, int dim, int to_dim, Sharding result);
  bool fits(const std::vector<Axes>& dims, int dim) const;
  bool permutes_cheaper(const Sharding& now, double paid);
  Sharding permuted(const Sharding& now) const;
  std::vector<Sharding> permutations(const Sharding& now) const;

  const ReshardEnds& ends_;
  const std::vector<Axes>& runs_;
  const bool exact_;
  std::vector<Move> moves_;
  int64_t count_ = 0;
  std::map<std::string, double> permuted_at_;  // what was paid where permutes were made
};

}  // namespace partita
