#pragma once
// Decides which rank writes which part of the states. Each element is written once; ranks that hold the same part share
// the work.

#include "ir/graph/graph.h"
#include "ir/sharding/box_runs.h"
#include "runtime/checkpoint/shard_format.h"

namespace partita {

/// A state, and the ranks that hold it with the box that each of them holds.
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

/// A box of a state, and the rank that writes it. That rank holds the box.
struct StateShare {
  int rank = 0;
  Box box;
};

/// Returns for each state which of the `ranks` ranks writes which box of it; the result is the same on every rank. A
/// box that several ranks hold is written as a whole by one of them. Only as far as the busiest rank would otherwise
/// write over a tenth more than if all such boxes of 1 MiB or more were split, they are split among their holders,
/// largest first. A part costs more than its bytes: it has tiles and a header entry of its own. If it is cut along a
/// dimension after the first, states in kernels' memory formats are made dense for all of its rows.
std::vector<std::vector<StateShare>> share_states(const std::vector<HeldState>& states, int ranks);

/// Returns the pieces that each rank writes: one list per rank, in the order of the states. `shares` has a list per
/// state, from `share_states` or `give_to_first`.
std::vector<std::vector<ShardPiece>> pieces_of_ranks(const std::vector<HeldState>& states,
                                                     const std::vector<std::vector<StateShare>>& shares, int ranks);

/// Assigns every state as a whole to rank 0.
std::vector<std::vector<StateShare>> give_to_first(const std::vector<HeldState>& states);

}  // namespace partita
