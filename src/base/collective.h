#pragma once
// The collectives: the moves of a reshard, the collective nodes of a local graph and the calls of a communicator are
// values of one enumeration, with one name each.

#include <optional>

#include "base/names.h"

namespace partita {

/// Joint operations of ranks. accumulate and stack join the micro-batches of one rank: as their sum, or their slices
/// concatenated. Values up to `halo_exchange` are nodes of local graphs; those after it are only calls of
/// communicators.
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
constexpr auto value_names(Collective) {
  return names("slice_shard", "accumulate", "stack_micro_batches", "all_gather", "all_to_all", "permute",
               "reduce_scatter", "all_reduce", "halo_exchange", "broadcast", "barrier", "split", "send", "recv",
               "leave");
}

/// Number of collectives that are nodes of local graphs; they come first in the enumeration.
inline constexpr size_t kNodeCollectives = static_cast<size_t>(Collective::halo_exchange) + 1;

/// Returns the collective that the op of a local graph is, or nothing if it is none.
constexpr std::optional<Collective> collective_of(std::string_view op) {
  for (size_t i = 0; i < kNodeCollectives; ++i) {
    if (kNames<Collective>[i] == op) return static_cast<Collective>(i);
  }
  return std::nullopt;
}

/// Whether the collective reduces the values of ranks or of micro-batches, instead of moving or concatenating them.
constexpr bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::accumulate;
}

/// Whether the ranks do it without communicating.
constexpr bool is_local(Collective collective) {
  return collective == Collective::slice || collective == Collective::accumulate || collective == Collective::stack;
}

/// Whether the collective takes the values of all micro-batches.
constexpr bool joins_micro_batches(Collective collective) {
  return collective == Collective::accumulate || collective == Collective::stack;
}

}  // namespace partita
