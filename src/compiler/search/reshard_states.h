#pragma once
// All shardings of values with a given number of dimensions on a mesh of few axes, and the moves between them. A search
// asks for every pair; ir/sharding/reshard.h finds paths one by one.

#include <cstdint>
#include <vector>

#include "ir/sharding/move.h"

namespace partita {

class ReshardStates {
 public:
  /// Whether the shardings of values with `dims` dimensions are few enough to list, and the mesh has few enough axes.
  static bool can_list(const Mesh& mesh, size_t dims);

  ReshardStates(const Mesh& mesh, const LinkCosts& links, size_t dims);

  /// Returns the index of a sharding without halos. Throws InternalError if it is not listed.
  int state(const Sharding& sharding) const;
  /// Axes that a state uses, one bit each.
  uint32_t axes_of(int state) const { return axes_[static_cast<size_t>(state)]; }
  /// Returns, by target state, the cost of the cheapest moves (Dijkstra, 1959) from `state`; infinite if there are
  /// none, or if the target cuts a dimension of `type` into more parts than it has elements. From a partial state, only
  /// moves over `axes` (a bit each) and permutes are allowed, so costs hold for targets that use no other axes.
  std::vector<double> costs_from(int state, uint32_t axes, const Type& type) const;

 private:
  using Code = uint64_t;  // the axes of each dimension in order, then the partial ones
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
  std::vector<std::pair<Code, int>> places_;  // (code, state), sorted
  std::vector<std::vector<Step>> moves_;
};

}  // namespace partita
