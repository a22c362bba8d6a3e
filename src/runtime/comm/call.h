#pragma once
// A call of one rank as its peers see it, and whether the calls of a group fit together.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.h"
#include "base/dtype.h"
#include "base/listed.h"
#include "base/reduce.h"

namespace partita {

struct Call {
  Collective kind = Collective::barrier;
  std::optional<Collective> part_of = {};  // the collective of which this call is a step; messages name that one
  DType dtype = DType::u8;
  Reduce reduce = Reduce::none;
  int root = -1;                              // rank in the group; broadcast only
  int64_t count = 0;                          // in elements; the sum of `counts` if these are given
  std::span<const int64_t> counts = {};       // elements per rank; what this rank sends, if ranks differ
  std::span<const int64_t> recv_counts = {};  // elements received per rank; all_to_all only
  std::span<const int> members = {};          // ranks of the new group; split only
  const void* send = nullptr;
  void* recv = nullptr;  // also the buffer of calls that work in place
  // Position of the call, for messages; not compared.
  uint64_t number = 0;  // number among this rank's calls in the group, from 1; 0: unknown
  int64_t step = 0;     // step of a training, from 1; 0: outside of a training

  /// Returns the collective that the user called: `part_of`, or `kind` if there is none.
  Collective named() const { return part_of.value_or(kind); }
};

/// Describes the data of a call: "f32[100]", or "f32[(3,4)]" with counts per rank. Returns "" for a barrier, a split
/// and a leave.
std::string describe_data(const Call& call);
/// Describes a call: "all_reduce f32[100] sum", "broadcast f32[8] from rank 4" or "split (0,2)", with ranks of the
/// world. `world_ranks` are the world ranks of the group.
std::string describe(const Call& call, std::span<const int> world_ranks);

// In the functions below, `number` is the number of the call in the group, from 1. It is used if the call has none.
/// Returns the message of a timeout: "[recv] timed out after 0.1 s at call 3 (f32[1]) of step 7: waiting for rank 1 of
/// group (0,1)". `missing` are ranks of the world; if it is empty, the message has "others" instead. `number` stands in
/// for a call's missing number. Numbers and steps of 0 are left out.
std::string timed_out(const Call& call, std::chrono::milliseconds timeout, const std::vector<int>& missing,
                      std::span<const int> world_ranks, uint64_t number = 0);

/// Returns the message for a call that ranks will never make: "[barrier] ranks disagree: rank 0 calls barrier, which
/// rank 1 of group (0,1) does not: it is done". `caller` is a rank of the group, `gone` are ranks of the world.
std::string left_behind(const Call& call, int caller, const std::vector<int>& gone, std::span<const int> world_ranks);

/// Returns the message for a lost rank: "[all_reduce] a rank was lost at call 3 (f32[1]) of step 7: the process of rank
/// 1 on b ended, got no answer, expected one in group (0,1)". `what` says how it was lost. `number` stands in for a
/// call's missing number. Numbers and steps of 0 are left out.
std::string lost(const Call& call, std::string_view what, std::span<const int> world_ranks, uint64_t number = 0);
/// Returns "the process of rank 1 ended", or "the process of rank 1 on b ended" if the host's name is given.
std::string ended(int rank, std::string_view host = "");

/// Compares the calls of all ranks of a group: each with that of rank 0, or every pair if they are all_to_all or split.
/// `call_of(r)` returns the call of rank r. Returns what `disagreement_of_two` returns for the first pair that does not
/// fit, nullopt if all fit.
template <class CallOf>
std::optional<std::string> disagreement(CallOf&& call_of, std::span<const int> world_ranks);

/// Returns the difference between two calls that do not fit, of ranks `a` and `b` of a group: "rank 0 calls A, rank 3
/// calls B", or for all_to_all with other counts "rank 0 sends i32[2] to rank 1, which expects i32[3]". Names ranks of
/// the world. Returns nullopt if the calls fit.
std::optional<std::string> disagreement_of_two(const Call& call_a, int a, const Call& call_b, int b,
                                               std::span<const int> world_ranks);

template <class CallOf>
std::optional<std::string> disagreement(CallOf&& call_of, std::span<const int> world_ranks) {
  const int size = static_cast<int>(world_ranks.size());
  // all_to_all and split relate every pair of ranks. The other calls all fit if each fits the first one.
  for (int a = 0; a < size; ++a) {
    const Call& call_a = call_of(a);
    for (int b = a + 1; b < size; ++b) {
      if (auto text = disagreement_of_two(call_a, a, call_of(b), b, world_ranks)) return text;
    }
    if (call_a.kind != Collective::all_to_all && call_a.kind != Collective::split) break;
  }
  return std::nullopt;
}

}  // namespace partita
