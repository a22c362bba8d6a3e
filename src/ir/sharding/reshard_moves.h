#pragma once
// The neighbours of a sharding in a reshard search, made on demand.

#include <map>

#include "ir/sharding/axis_runs.h"

namespace partita {

constexpr int64_t kMaxMoves = 200'000;  // moves that a search looks at before it gives up

/// Makes the moves from a sharding.
class ReshardMoves {
 public:
  /// Axes move in `runs`. `exact`: also try every subset of the reducible axes and every permutation of the axes, which
  /// then are runs of one axis, instead of only the permutation nearest to the target. The arguments must outlive the
  /// object.
  ReshardMoves(const ReshardEnds& ends, const std::vector<Axes>& runs, bool exact)
      : ends_(ends), runs_(runs), exact_(exact) {}

  /// Returns the moves from a sharding that was reached at the cost `paid`. None of them cuts a dimension into more
  /// parts than it has elements. May omit permutes that could only lead to paths of cost `limit` or more.
  std::vector<Move> from(const Sharding& now, double paid, double limit);
  /// Number of moves made so far.
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
  std::map<std::string, double> permuted_at_;  // lowest cost paid where permutes were made
};

}  // namespace partita
