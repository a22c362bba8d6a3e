#include "runtime/comm/shared_memory/meetings.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace partita {
namespace {

// Between two checks for ranks that have ended.
constexpr Timeout kMeetingLookInterval = std::chrono::milliseconds(200);
constexpr Timeout kFailureTextTimeout = std::chrono::seconds(10);

}  // namespace

Meetings::Meetings(const SegmentLayout& segment, int rank, std::vector<int> world_ranks, const WaitPolicy& policy,
                   const Presence* presence, const WorldState* world)
    : segment_(segment),
      rank_(rank),
      world_ranks_(std::move(world_ranks)),
      policy_(policy),
      presence_(presence),
      world_(world) {}

void Meetings::begin(const Call& call, Timeout timeout, uint64_t number) {
  if (segment_.head().state.load() % 2 == 1) throw_failure();
  call_ = &call;
  number_ = number;
  timeout_ = timeout;
  deadline_ = deadline_after(timeout);
  throw_if_world_failed();
}

void Meetings::meet() {
  SegmentHead& shared = segment_.head();
  const uint64_t open = 2 * meetings_++;
  segment_.rank_state(rank_).meetings.store(meetings_);
  if (shared.arrivals.fetch_add(1) + 1 == meetings_ * static_cast<uint64_t>(segment_.ranks())) {
    uint64_t expected = open;
    shared.state.compare_exchange_strong(expected, open + 2);
    shared.event.notify();
  }
  await_close(open);
  // Ranks that have passed this meeting may already have failed the next one, which this test ignores.
  if (shared.state.load() == open + 1) throw_failure();
}

void Meetings::await_close(uint64_t open) {
  SegmentHead& shared = segment_.head();
  // A rank leaves after its last meeting, so it will miss one that is still open.
  const auto is_over = [&] {
    const bool has_left = shared.left.load() > 0;
    return shared.state.load() != open || has_left || (world_ != nullptr && world_->is_aborted());
  };
  while (true) {
    const Deadline next = std::min(deadline_, presence_ == nullptr ? deadline_ : deadline_after(kMeetingLookInterval));
    if (shared.event.wait(is_over, next, policy_)) {
      if (shared.state.load() != open) return;
      throw_if_world_failed();
      return fail(open, ExitCode::ranks_disagree, left_behind(*call_, rank_, departed(), world_ranks_));
    }
    // A rank that ends normally leaves first, so one that is gone while a meeting is open was killed.
    const auto gone = std::find_if(world_ranks_.begin(), world_ranks_.end(),
                                   [&](int rank) { return presence_ != nullptr && presence_->is_gone(rank); });
    if (gone != world_ranks_.end()) {
      return fail(open, ExitCode::peer_lost, lost(*call_, ended(*gone), world_ranks_, number_));
    }
    if (next == deadline_) {
      return fail(open, ExitCode::peer_stalled, timed_out(*call_, timeout_, missing(), world_ranks_, number_));
    }
  }
}

void Meetings::throw_if_world_failed() const {
  if (world_ != nullptr) world_->throw_if_aborted(*call_, world_ranks_, number_);
}

std::vector<int> Meetings::missing() const {
  std::vector<int> missing;
  for (int r = 0; r < segment_.ranks(); ++r) {
    if (segment_.rank_state(r).meetings.load() < meetings_) missing.push_back(world_ranks_[r]);
  }
  return missing;
}

std::vector<int> Meetings::departed() const {
  std::vector<int> departed;
  for (int r = 0; r < segment_.ranks(); ++r) {
    if (segment_.rank_state(r).left.load()) departed.push_back(world_ranks_[r]);
  }
  return departed;
}

void Meetings::fail(uint64_t open, ExitCode code, const std::string& text) {
  SegmentHead& shared = segment_.head();
  uint64_t expected = open;
  if (!shared.state.compare_exchange_strong(expected, open + 1)) return;
  text.copy(shared.failure, sizeof shared.failure - 1);
  shared.code = code;
  shared.explained.store(true);
  shared.event.notify();
}

void Meetings::throw_failure() const {
  SegmentHead& shared = segment_.head();
  // The rank that failed the meeting writes the reason shortly, unless it was killed before.
  if (shared.event.wait([&] { return shared.explained.load(); }, deadline_after(kFailureTextTimeout), policy_)) {
    throw RuntimeFailure(shared.code, shared.failure);
  }
  throw RuntimeFailure(ExitCode::peer_lost,
                       fmt::format("[communicator] a rank of group ({}) was lost while it failed a call for all",
                                   listed(world_ranks_, ",")));
}

void Meetings::leave() {
  segment_.rank_state(rank_).left.store(true);
  segment_.head().left.fetch_add(1);
  segment_.head().event.notify();
}

}  // namespace partita
