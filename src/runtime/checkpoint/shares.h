#pragma once
// Which rank writes what of the states: each element once, ranks that hold the same share the work.

#include "ir/graph/graph.h"
#include "ir/sharding/box_runs.h"
#include "runtime/checkpoint/shard_format.h"

namespace partita {

/// A state, and the ranks that hold it with what each of them holds.
struct HeldState {
  struct Holder {
    int rank = 0;
    Box box;
  };
  std::string name;
  Type type;
  StateKind kind = StateKind::parameter;
  std::vector<Holder> holders;
};

/// A box of a state, and the rank that writes it, which holds it.
struct StateShare {
  int rank = 0;
  Box box;
};

/// For each state its shares, the same on every rank that asks. What several ranks hold alike is written by one of them
/// as a whole, or by each of them in part where the busiest rank would otherwise write over a tenth more: a part costs
/// more than its bytes, since it has tiles and an entry in a header of its own, and where it is cut along a dimension
/// behind the first, states in kernels' formats are made dense as far as its rows go.
std::vector<std::vector<StateShare>> share_states(const std::vector<HeldState>& states, int ranks);

/// What each rank writes.
std::vector<std::vector<ShardPiece>> pieces_of_ranks(const std::vector<HeldState>& states,
                                                     const std::vector<std::vector<StateShare>>& shares, int ranks);

/// Every state as a whole, on rank 0.
std::vector<std::vector<StateShare>> give_to_first(const std::vector<HeldState>& states);

}  // namespace partita
