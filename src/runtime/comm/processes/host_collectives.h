#pragma once
// Collectives of a group that spans hosts, of which some have several ranks: what these can do together they do in
// shared memory, so that fewer bytes go from host to host.

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

/// One rank's part. Algorithms and bytes are in docs/internals/collectives.md.
class HostCollectives {
 public:
  /// `near`: the ranks of this host, as `blocks` has them. `messages`, of all ranks of the group, outlives the object.
  HostCollectives(HostBlocks blocks, std::shared_ptr<SharedMemoryCommunicator> near, MessageGroup& messages, int rank);

  /// Whether a call goes by host, which all ranks of the group decide alike: it is long enough to gain by it, fewer
  /// bytes go from host to host, and the bits are the same.
  bool takes(const Call& call) const;
  /// A call that is taken.
  void run(const Call& call, Timeout timeout);

  /// This rank makes no further call.
  void leave() { near_->leave(); }

 private:
  /// Elements [begin, end) of a buffer.
  struct Interval {
    int64_t begin = 0, end = 0;
    int64_t count() const { return std::max<int64_t>(0, end - begin); }
  };
  static Interval common(Interval a, Interval b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }
  /// Part `index` of `count` elements in `parts` about equal ones, behind `begin`.
  static Interval share_of(int64_t begin, int64_t count, int index, int parts) {
    return {begin + count * index / parts, begin + count * (index + 1) / parts};
  }

  enum class Phase { first, behind_others, last };
  /// How long a rank waits in a phase: one that waits for a rank that waits itself waits longer, so that the other
  /// names whom it waits for.
  Timeout patience(Phase phase) const;
  /// A step of the call among the ranks of this host.
  Call step_of(const Call& call, Collective kind) const;

  int here() const { return blocks_.size(); }
  /// Where the part of each rank begins, and the end of the last.
  void find_begins(std::span<const int64_t> counts);
  Interval part_of(int rank) const { return {begins_[rank], begins_[rank + 1]}; }
  Interval part_of_block(int block) const {
    return {begins_[blocks_.begins[block]], begins_[blocks_.begins[block + 1]]};
  }

  /// Elements of `data`, which begins with element `first`, as a message; nothing for none.
  void add(std::vector<MessagePiece>& pieces, int peer, const void* data, int64_t first, Interval piece) const;

  void all_reduce(const Call& call);
  void reduce_scatter(const Call& call);
  void all_gather(const Call& call);
  void broadcast(const Call& call);
  /// Elements of a buffer that are reduced at a time.
  int64_t per_round() const;
  /// How `count` elements are shared among the owners of each host, in `given_`, and room for the share of this rank.
  void share_out(int64_t count);
  /// The sum of all ranks of the elements that were shared out, which begin at `data`: each owner of the last host gets
  /// its share in `share_`, and when it `returns` those of every host. What is in `sends_` and `receives_` goes
  /// meanwhile.
  void reduce_to_owners(const Call& call, const void* data, bool returns);
  /// Messages by which the last host's owners bring elements `round` to the ranks of other hosts whose parts they are.
  void plan_deal(const Call& call, Interval round);
  /// The same on the last host.
  void deal_near(const Call& call, Interval round);
  /// Of `count` elements at `data` each rank of this host has its share.
  void share_near(const Call& call, std::byte* data, int64_t count);
  /// `given_` elements to each rank of this host, `taken_` from each.
  void near_all_to_all(const Call& call, const void* send, void* recv, Phase phase);

  HostBlocks blocks_;
  std::shared_ptr<SharedMemoryCommunicator> near_;
  MessageGroup& messages_;
  const int rank_, place_;  // in the group, and among the ranks of this host

  // Of the present call; kept, so that calls allocate nothing.
  Timeout timeout_{};
  int64_t item_ = 0;  // bytes of an element
  std::vector<int64_t> begins_, given_, taken_;
  std::vector<MessagePiece> sends_, receives_;
  std::vector<const void*> sources_;
  std::vector<std::byte> contributions_, share_;
};

}  // namespace partita
