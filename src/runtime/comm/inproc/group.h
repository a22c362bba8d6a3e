#pragma once
// State that the ranks of one group share: the rendezvous of their collectives, and their mailboxes.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/collective_algorithm.h"
#include "runtime/comm/call.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/event_count.h"
#include "runtime/comm/inproc/collectives.h"
#include "runtime/comm/inproc/mailbox.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// A collective goes through three phases. While it is `open`, ranks arrive; a rank that waits too long or sees an
/// abort may set it to `failed`, permanently. The last rank to arrive closes it and compares the calls. It then does
/// all the work itself (small messages), or each rank does its part while the phase is `moving`. From `closed` on no
/// rank leaves before all parts are done, so that no rank frees a buffer that a peer reads.
class Group : public Wakeable {
 public:
  /// Makes a group and registers it to be woken by a failure of `world`. `cores`: those of the process.
  static std::shared_ptr<Group> make(const std::shared_ptr<WorldState>& world, std::vector<int> world_ranks, int cores);
  Group(std::shared_ptr<WorldState> world, std::vector<int> world_ranks, int cores);  // use make

  int size() const { return static_cast<int>(world_ranks_.size()); }
  WorldState& world() const { return *world_; }
  const std::shared_ptr<WorldState>& shared_world() const { return world_; }
  std::span<const int> world_ranks() const { return world_ranks_; }

  /// Runs the collective `call` of `rank` on its thread, and returns when all ranks have done their parts. The call's
  /// spans and buffers last until it returns. Throws RankFailures.
  void run(int rank, const Call& call, Timeout timeout);
  /// Runs a split and returns the group of the ranks in `call.members`, which all of them get. `rank` must be one of
  /// them. Throws RankFailures.
  std::shared_ptr<Group> split(int rank, const Call& call, Timeout timeout);

  void send(int rank, const Call& call, int to, Timeout timeout);
  void post(int rank, const Call& call, int to);
  void recv(int rank, const Call& call, int from, Timeout timeout);

  /// Declares that `rank` makes no further call. Ranks that wait for it in a collective, now or later, fail with
  /// ranks_disagree.
  void leave(int rank);

  void wake() noexcept override;

 private:
  enum class Phase : uint64_t { open, closed, moving, failed };

  /// The data that a rank leaves for its peers when it arrives at a meeting.
  struct alignas(128) Arrival {
    Call call;
    std::atomic<uint64_t> meetings{0};  // number of meetings at which the rank has arrived
    std::atomic<bool> has_left{false};
    std::shared_ptr<Group> part;  // result of a split
  };

  // The state packs the number of finished meetings and the phase of the current one into one word.
  static uint64_t pack(uint64_t meeting, Phase phase) { return meeting * 4 + static_cast<uint64_t>(phase); }
  static uint64_t meeting_of(uint64_t state) { return state / 4; }
  static Phase phase_of(uint64_t state) { return static_cast<Phase>(state % 4); }
  void advance(uint64_t state);

  void close(uint64_t meeting);
  /// Compares the calls, as the last rank to arrive. If they fit, makes the groups of a split or does the work of all
  /// ranks; if there is much, lets each do its part (`moving`). Else stores the difference in `disagreement_`, with
  /// which all ranks fail.
  void do_closed(uint64_t meeting);
  /// Returns the algorithm of the closed meeting, whose calls fit together.
  CollectiveAlgorithm algorithm() const;
  void give_up_closed(uint64_t meeting) noexcept;
  void await_close(uint64_t meeting, int rank, const Call& call, Timeout timeout, Deadline deadline);
  void finish_part(uint64_t meeting);
  void make_parts();
  void fail(uint64_t meeting, ExitCode code, const std::string& message);
  [[noreturn]] void throw_failure() const;

  std::vector<int> missing(uint64_t meeting) const;  // world ranks that have not arrived
  std::vector<int> departed() const;                 // world ranks that have left
  Mailbox& mailbox(int from, int to);
  void finish(Mailbox::Outcome outcome, Mailbox& box, const Call& call, int from, int to, int peer,
              Timeout timeout) const;

  const std::shared_ptr<WorldState> world_;
  const std::vector<int> world_ranks_;
  const int cores_;
  const WaitPolicy policy_;
  const RankSpread spread_;
  std::vector<Arrival> arrivals_;
  std::vector<const Call*> calls_;  // pointers to the calls in arrivals_
  alignas(128) std::atomic<uint64_t> state_{0};
  alignas(128) std::atomic<int> arrived_{0};
  std::atomic<int> finished_parts_{0};
  std::atomic<int> departed_{0};  // number of ranks that have left
  EventCount event_;
  std::string disagreement_;  // the difference between calls in the last closed meeting; "": none

  mutable std::mutex mutex_;  // guards the members below
  ExitCode failure_code_ = ExitCode::peer_stalled;
  std::string failure_;
  std::map<std::pair<int, int>, std::unique_ptr<Mailbox>> mailboxes_;
};

}  // namespace partita
