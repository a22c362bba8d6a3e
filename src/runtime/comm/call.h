#pragma once
// One call of one rank as its peers see it, and whether the calls of a group fit together.

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
  std::optional<Collective> part_of = {};  // the collective that this one is a step of, by which messages name it
  DType dtype = DType::u8;
  Reduce reduce = Reduce::none;
  int root = -1;                              // of broadcast
  int64_t count = 0;                          // elements; their sum where there are `counts`
  std::span<const int64_t> counts = {};       // per rank; what it sends where that differs
  std::span<const int64_t> recv_counts = {};  // of all_to_all
  std::span<const int> members = {};          // of split
  const void* send = nullptr;
  void* recv = nullptr;  // also the buffer of the calls that work in place
  // Where it happens, for messages; not compared.
  uint64_t number = 0;  // of the calls of this rank in the group, from 1; 0: not known
  int64_t step = 0;     // of a training, from 1; 0: outside of one

  /// As users know it.
  Collective named() const { return part_of.value_or(kind); }
};

/// "f32[100]", "f32[(3,4)]" with counts per rank, "" for a call without data.
std::string describe_data(const Call& call);
/// "all_reduce f32[100] sum"; `world_ranks` are those of the group.
std::string describe(const Call& call, std::span<const int> world_ranks);

// `number` counts the calls of the group from 1, where the call does not know its own.
/// "[recv] timed out after 0.1 s (f32[1]): waiting for rank 1 of group (0,1)"; `missing` are ranks of the world, none
/// when it is not known which.
std::string timed_out(const Call& call, std::chrono::milliseconds timeout, const std::vector<int>& missing,
                      std::span<const int> world_ranks, uint64_t number = 0);

/// "[barrier] ranks disagree: rank 0 calls barrier, which rank 1 of group (0,1) does not: it is done"; `caller` is a
/// rank of the group, `gone` are ranks of the world.
std::string left_behind(const Call& call, int caller, const std::vector<int>& gone, std::span<const int> world_ranks);

/// "[all_reduce] a rank was lost at call 3 (f32[1]) of step 7: the process of rank 1 on b ended, got no answer,
/// expected one in group (0,1)"; `what` says how it was lost.
std::string lost(const Call& call, std::string_view what, std::span<const int> world_ranks, uint64_t number = 0);
/// "the process of rank 1 ended", on a host when its name is given.
std::string ended(int rank, std::string_view host = "");

/// "rank 0 calls A, rank 3 calls B" for the first rank whose call does not fit rank 0's.
/// `call_of(r)` gives the call of rank r.
template <class CallOf>
std::optional<std::string> disagreement(CallOf&& call_of, std::span<const int> world_ranks);

/// What is wrong between two calls of ranks `a` and `b` of a group, if anything.
std::optional<std::string> disagreement_of_two(const Call& call_a, int a, const Call& call_b, int b,
                                               std::span<const int> world_ranks);

template <class CallOf>
std::optional<std::string> disagreement(CallOf&& call_of, std::span<const int> world_ranks) {
  const int size = static_cast<int>(world_ranks.size());
  // all_to_all and split relate every pair of ranks; the others are equal when each equals the
  // first.
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
