#pragma once
// All shardings of values of so many dimensions on a mesh of few axes, and the moves between them: what a search asks
// of every pair, for which ir/sharding/reshard.h looks one by one.

#include <cstdint>
#include <vector>

#include "ir/sharding/move.h"

namespace partita {

class ReshardStates {
 public:
  /// Whether there are few enough of them to list.
  static bool can_list(const Mesh& mesh, size_t dims);

  ReshardStates(const Mesh& mesh, const LinkCosts& links, size_t dims);

  /// The place of a sharding without halos among them.
  int state(const Sharding& sharding) const;
  /// The axes that a state uses, a bit for each.
  uint32_t axes_of(int state) const { return axes_[static_cast<size_t>(state)]; }
  /// What it costs to come from one of them to each, by the cheapest moves (Dijkstra, 1959); infinite where there is no
  /// way. Sums are reduced over these axes, which both ends use, without a detour over others.
  std::vector<double> costs_from(int state, uint32_t axes, const Type& type) const;

 private:
  using Code = uint64_t;  // the axes of each dimension in order, those that are partial behind them
  struct Step {
    int target;
    Collective kind;
    double ways, step, byte;  // of the axes that take part
  };
  static Code code_of(const Sharding& sharding);
  void list(Sharding& sharding, size_t axis, size_t rank_axes);
  void add_moves(size_t state);
  void add_move(size_t state, Collective kind, const Axes& axes, const Sharding& result);
  void add_permutes();

  const Mesh& mesh_;
  const LinkCosts& links_;
  std::vector<Sharding> states_;
  std::vector<uint32_t> axes_;                // per state
  std::vector<std::pair<Code, int>> places_;  // sorted
  std::vector<std::vector<Step>> moves_;
};

}  // namespace partita
