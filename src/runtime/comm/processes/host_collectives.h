#pragma once
// Collectives of a group that spans hosts, some of which have several ranks. Ranks of a host combine their parts in
// shared memory, so that fewer bytes pass between hosts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/comm/call.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/messages/message_group.h"
#include "runtime/comm/processes/blocks.h"
#include "runtime/comm/shared_memory/communicator.h"

namespace partita {

/// Elements [begin, end) of a buffer.
struct Interval {
  int64_t begin = 0, end = 0;
  int64_t count() const { return std::max<int64_t>(0, end - begin); }
};
inline Interval common(Interval a, Interval b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }
/// Returns part `index` of `count` elements from `begin` on that are split into `parts` nearly equal parts.
inline Interval share_of(int64_t begin, int64_t count, int index, int parts) {
  return {begin + count * index / parts, begin + count * (index + 1) / parts};
}

/// One rank's part of the collectives. Algorithms and bytes are in docs/internals/collectives.md.
class HostCollectives {
 public:
  /// `near` has the ranks of this host, as in `blocks`. `messages` has all ranks of the group and outlives this object.
  /// `rank` is this rank in the group.
  HostCollectives(HostBlocks blocks, std::shared_ptr<SharedMemoryCommunicator> near, MessageGroup& messages, int rank);

  /// Runs an all_reduce or reduce_scatter as a chain, an all_gather or a broadcast by host_shares. Other calls throw
  /// InternalError. Throws RankFailures; `messages` then refuses further calls.
  void run(const Call& call, Timeout timeout);

  /// Declares to the ranks of this host that this rank makes no further call.
  void leave() { near_->leave(); }

 private:
  enum class Phase { first, after_others, last };
  /// Returns the timeout of a phase: one, two or three times the call's in the order of the phases, or the call's if
  /// the product would overflow. A rank that waits for a rank which itself waits has a longer one, so that the other
  /// one times out first and names whom it waits for.
  Timeout patience(Phase phase) const;
  /// Returns a step of `call` among the ranks of this host, a call of kind `kind` yet without counts and buffers.
  Call step_of(const Call& call, Collective kind) const;

  int here() const { return blocks_.size(); }
  /// Stores the begin of each rank's part, and the end of the last, in `begins_`; `counts` has the elements of each
  /// part.
  void find_begins(std::span<const int64_t> counts);
  Interval part_of(int rank) const { return {begins_[rank], begins_[rank + 1]}; }
  Interval part_of_block(int block) const {
    return {begins_[blocks_.begins[block]], begins_[blocks_.begins[block + 1]]};
  }

  /// Adds a message with elements `piece` of `data`, whose first element is number `first`. Adds nothing for an empty
  /// piece.
  void add(std::vector<MessagePiece>& pieces, int peer, const void* data, int64_t first, Interval piece) const;

  void all_reduce(const Call& call);
  void reduce_scatter(const Call& call);
  void all_gather(const Call& call);
  void broadcast(const Call& call);
  /// Returns the number of elements that are reduced at a time: at least 1, and not more than let what an owner gets
  /// from its host fit Carrier::kMaxBytes.
  int64_t per_round() const;
  /// Stores in `given_` how many of `count` elements each rank of this host owns. The first shares() ranks of each host
  /// own nearly equal parts, the others none. Makes room for this rank's part in `share_`.
  void share_out(int64_t count);
  /// Reduces the elements that were split by `share_out`, which begin at `data`, over all ranks. Each owner of the last
  /// host gets its share in `share_`; with `returns` the owners of every host do. An owner also exchanges the messages
  /// in `sends_` and `receives_`. Throws as `run` does.
  void reduce_to_owners(const Call& call, const void* data, bool returns);
  /// Fills `sends_` and `receives_` with the messages in which the last host's owners send the elements `round` to the
  /// ranks of other hosts to which they belong.
  void plan_scatter(const Call& call, Interval round);
  /// Distributes the elements `round`, on the last host, from its owners' `share_` to the ranks of that host to which
  /// they belong. Throws as `run` does.
  void scatter_near(const Call& call, Interval round);
  /// Gathers `count` elements at `data` on every rank of this host, of which each rank there has its share. Throws as
  /// `run` does.
  void share_near(const Call& call, std::byte* data, int64_t count);
  /// Sends `given_[i]` elements to each rank i of this host and receives `taken_[i]` from it, within the timeout of
  /// `phase`. Throws as `run` does.
  void near_all_to_all(const Call& call, const void* send, void* recv, Phase phase);

  HostBlocks blocks_;
  std::shared_ptr<SharedMemoryCommunicator> near_;
  MessageGroup& messages_;
  const int rank_, place_;  // rank in the group, and among the ranks of this host

  // State of the current call; kept, so that calls allocate nothing.
  Timeout timeout_{};
  int64_t item_ = 0;  // bytes of an element
  std::vector<int64_t> begins_, given_, taken_;
  std::vector<MessagePiece> sends_, receives_;
  std::vector<const void*> sources_;
  std::vector<std::byte> contributions_, share_;
};

}  // namespace partita
