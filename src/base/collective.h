#pragma once
// What ranks do together: the moves of a reshard, the collective nodes of a local graph and the calls of a communicator
// are values of one enumeration, with one name each.

#include <optional>

#include "base/names.h"

namespace partita {

/// accumulate and stack bring the micro-batches of a rank together: their sum, or their slices one behind the other.
/// Nodes of local graphs come first, up to `halo_exchange`; the values behind it are calls of communicators alone.
enum class Collective {
  slice,
  accumulate,
  stack,
  all_gather,
  all_to_all,
  permute,
  reduce_scatter,
  all_reduce,
  halo_exchange,
  broadcast,
  barrier,
  split,
  send,
  recv,
  leave
};
template <>
inline constexpr auto kNames<Collective> = names("slice_shard", "accumulate", "stack_micro_batches", "all_gather",
                                                 "all_to_all", "permute", "reduce_scatter", "all_reduce",
                                                 "halo_exchange", "broadcast", "barrier", "split", "send", "recv",
                                                 "leave");

/// The collectives that are nodes of local graphs.
inline constexpr size_t kNodeCollectives = static_cast<size_t>(Collective::halo_exchange) + 1;

/// The collective that an op of a local graph is, if any.
constexpr std::optional<Collective> collective_of(std::string_view op) {
  for (size_t i = 0; i < kNodeCollectives; ++i) {
    if (kNames<Collective>[i] == op) return static_cast<Collective>(i);
  }
  return std::nullopt;
}

/// Whether it combines the values of the ranks, or of micro-batches.
constexpr bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::accumulate;
}

/// Whether ranks take no part in what others do.
constexpr bool is_local(Collective collective) {
  return collective == Collective::slice || collective == Collective::accumulate || collective == Collective::stack;
}

/// Whether it takes the values of all micro-batches.
constexpr bool joins_micro_batches(Collective collective) {
  return collective == Collective::accumulate || collective == Collective::stack;
}

}  // namespace partita
