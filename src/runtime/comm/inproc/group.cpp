#include "runtime/comm/inproc/group.h"

#include <algorithm>
#include <exception>

namespace partita {

Group::Group(std::shared_ptr<WorldState> world, std::vector<int> world_ranks, int cores)
    : world_(std::move(world)),
      world_ranks_(std::move(world_ranks)),
      cores_(cores),
      policy_(wait_policy(size(), cores)),
      spread_(spread_of_threads(size(), cores)),
      arrivals_(world_ranks_.size()) {
  for (const Arrival& arrival : arrivals_) calls_.push_back(&arrival.call);
}

std::shared_ptr<Group> Group::make(const std::shared_ptr<WorldState>& world, std::vector<int> world_ranks, int cores) {
  auto group = std::make_shared<Group>(world, std::move(world_ranks), cores);
  world->enlist(group);
  return group;
}

void Group::run(int rank, const Call& call, Timeout timeout) {
  world_->throw_if_aborted();
  const uint64_t state = state_.load();
  if (phase_of(state) == Phase::failed) throw_failure();
  const uint64_t meeting = meeting_of(state);
  arrivals_[rank].call = call;
  arrivals_[rank].meetings.store(meeting + 1);
  if (arrived_.fetch_add(1) == size() - 1) {
    close(meeting);
  } else {
    await_close(meeting, rank, call, timeout, deadline_after(timeout));
  }
  if (state_.load() == pack(meeting, Phase::moving)) {
    std::exception_ptr failure;
    try {
      move_data(calls_, rank);
    } catch (...) {
      failure = std::current_exception();
    }
    finish_part(meeting);  // also after a failure: peers still read this rank's buffers
    if (failure) std::rethrow_exception(failure);
  }
  // disagreement_ is stable: the next meeting cannot close before this rank arrives there.
  if (!disagreement_.empty()) throw RuntimeFailure(ExitCode::ranks_disagree, disagreement_);
}

std::shared_ptr<Group> Group::split(int rank, const Call& call, Timeout timeout) {
  run(rank, call, timeout);
  return std::move(arrivals_[rank].part);
}

void Group::advance(uint64_t state) {
  state_.store(state);
  event_.notify();
}

void Group::close(uint64_t meeting) {
  uint64_t open = pack(meeting, Phase::open);
  if (!state_.compare_exchange_strong(open, pack(meeting, Phase::closed))) throw_failure();
  arrived_.store(0);
  disagreement_.clear();
  try {
    do_closed(meeting);
  } catch (...) {  // out of memory
    give_up_closed(meeting);
    throw;
  }
}

void Group::do_closed(uint64_t meeting) {
  if (const auto text = disagreement([&](int r) -> const Call& { return *calls_[r]; }, world_ranks_)) {
    disagreement_ = fmt::format("[{}] ranks disagree: {}", name_of(calls_[0]->kind), *text);
  } else if (calls_[0]->kind == Collective::split) {
    make_parts();
  } else if (algorithm() == CollectiveAlgorithm::direct) {
    return advance(pack(meeting, Phase::moving));
  } else {
    for (int r = 0; r < size(); ++r) move_data(calls_, r);
  }
  advance(pack(meeting + 1, Phase::open));
}

CollectiveAlgorithm Group::algorithm() const {
  const double mean_bytes = static_cast<double>(bytes_moved(calls_)) / size();
  return choose_algorithm(calls_[0]->kind, calls_[0]->dtype, spread_).of(mean_bytes);
}

void Group::give_up_closed(uint64_t meeting) noexcept {
  const std::lock_guard lock(mutex_);
  failure_code_ = ExitCode::out_of_memory;
  failure_.clear();
  advance(pack(meeting, Phase::failed));
}

void Group::await_close(uint64_t meeting, int rank, const Call& call, Timeout timeout, Deadline deadline) {
  const auto is_decided = [&] {
    const uint64_t state = state_.load();
    return meeting_of(state) != meeting || phase_of(state) >= Phase::moving;
  };
  // A rank leaves after its last meeting, so it will miss one that is still open.
  const auto is_over = [&] {
    const bool is_incomplete = departed_.load() > 0;
    return is_decided() || world_->is_aborted() || is_incomplete;
  };
  if (!event_.wait(is_over, deadline, policy_)) {
    fail(meeting, ExitCode::peer_stalled, timed_out(call, timeout, missing(meeting), world_ranks_, meeting + 1));
  } else if (!is_decided() && !world_->is_aborted()) {
    fail(meeting, ExitCode::ranks_disagree, left_behind(call, rank, departed(), world_ranks_));
  } else if (!is_decided()) {
    fail(meeting, ExitCode::peer_lost, "");
  }
  // A rank that was too late to fail an open meeting takes part in it to its end.
  event_.wait(is_decided, Deadline::max(), policy_);
  if (state_.load() == pack(meeting, Phase::failed)) throw_failure();
}

void Group::finish_part(uint64_t meeting) {
  if (finished_parts_.fetch_add(1) == size() - 1) {
    finished_parts_.store(0);
    return advance(pack(meeting + 1, Phase::open));
  }
  event_.wait([&] { return meeting_of(state_.load()) != meeting; }, Deadline::max(), policy_);
}

void Group::make_parts() {
  for (int r = 0; r < size(); ++r) {
    const std::span<const int> members = calls_[r]->members;
    const int first = *std::min_element(members.begin(), members.end());
    if (first != r) {
      arrivals_[r].part = arrivals_[first].part;
      continue;
    }
    std::vector<int> world_ranks;
    for (int member : members) world_ranks.push_back(world_ranks_[member]);
    arrivals_[r].part = make(world_, std::move(world_ranks), cores_);
  }
}

void Group::fail(uint64_t meeting, ExitCode code, const std::string& message) {
  const std::lock_guard lock(mutex_);
  uint64_t open = pack(meeting, Phase::open);
  if (!state_.compare_exchange_strong(open, pack(meeting, Phase::failed))) return;
  failure_code_ = code;
  failure_ = message;
  event_.notify();
}

void Group::throw_failure() const {
  world_->throw_if_aborted();
  const std::lock_guard lock(mutex_);
  throw RuntimeFailure(failure_code_, failure_);
}

std::vector<int> Group::departed() const {
  std::vector<int> ranks;
  for (int r = 0; r < size(); ++r) {
    if (arrivals_[r].has_left.load()) ranks.push_back(world_ranks_[r]);
  }
  return ranks;
}

void Group::leave(int rank) {
  arrivals_[rank].has_left.store(true);
  departed_.fetch_add(1);
  event_.notify();
}

std::vector<int> Group::missing(uint64_t meeting) const {
  std::vector<int> ranks;
  for (int r = 0; r < size(); ++r) {
    if (arrivals_[r].meetings.load() <= meeting) ranks.push_back(world_ranks_[r]);
  }
  return ranks;
}

Mailbox& Group::mailbox(int from, int to) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Mailbox>& box = mailboxes_[{from, to}];
  if (box == nullptr) box = std::make_unique<Mailbox>();
  return *box;
}

void Group::send(int rank, const Call& call, int to, Timeout timeout) {
  Mailbox& box = mailbox(rank, to);
  world_->throw_if_aborted();
  const auto outcome = box.send(call, deadline_after(timeout), *world_, policy_);
  finish(outcome, box, call, rank, to, /*peer=*/to, timeout);
}

void Group::post(int rank, const Call& call, int to) {
  Mailbox& box = mailbox(rank, to);
  world_->throw_if_aborted();
  finish(box.post(call, *world_), box, call, rank, to, /*peer=*/to, Timeout::zero());
}

void Group::recv(int rank, const Call& call, int from, Timeout timeout) {
  Mailbox& box = mailbox(from, rank);
  world_->throw_if_aborted();
  const auto outcome = box.recv(call, deadline_after(timeout), *world_, policy_);
  finish(outcome, box, call, from, rank, /*peer=*/from, timeout);
}

void Group::finish(Mailbox::Outcome outcome, Mailbox& box, const Call& call, int from, int to, int peer,
                   Timeout timeout) const {
  switch (outcome) {
    case Mailbox::Outcome::done: return;
    case Mailbox::Outcome::aborted: throw_failure();
    case Mailbox::Outcome::timed_out:
      throw RuntimeFailure(ExitCode::peer_stalled, timed_out(call, timeout, {world_ranks_[peer]}, world_ranks_));
    case Mailbox::Outcome::disagreed: {
      const Mailbox::Conflict conflict = box.conflict();
      throw RuntimeFailure(ExitCode::ranks_disagree,
                           fmt::format("[{}] ranks disagree: rank {} calls {}, rank {} calls {}", name_of(call.kind),
                                       world_ranks_[from], describe(conflict.sent, world_ranks_), world_ranks_[to],
                                       describe(conflict.received, world_ranks_)));
    }
  }
}

void Group::wake() noexcept {
  event_.notify();
  const std::lock_guard lock(mutex_);
  for (const auto& [pair, box] : mailboxes_) box->wake();
}

}  // namespace partita
