#include "runtime/comm/processes/host_collectives.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "runtime/comm/rank_parts.h"

namespace partita {

HostCollectives::HostCollectives(HostBlocks blocks, std::shared_ptr<SharedMemoryCommunicator> near,
                                 MessageGroup& messages, int rank)
    : blocks_(std::move(blocks)),
      near_(std::move(near)),
      messages_(messages),
      rank_(rank),
      place_(rank - blocks_.begin()) {}

void HostCollectives::run(const Call& call, Timeout timeout) {
  timeout_ = timeout;
  item_ = static_cast<int64_t>(size_of(call.dtype));
  try {
    switch (call.kind) {
      case Collective::all_reduce: return all_reduce(call);
      case Collective::reduce_scatter: return reduce_scatter(call);
      case Collective::all_gather: return all_gather(call);
      case Collective::broadcast: return broadcast(call);
      default: PARTITA_CHECK(false, "{} by host", name_of(call.kind));
    }
  } catch (...) {
    messages_.refuse();
    throw;
  }
}

Timeout HostCollectives::patience(Phase phase) const {
  const int times = 1 + static_cast<int>(phase);
  return timeout_ > Timeout::max() / times ? timeout_ : times * timeout_;
}

Call HostCollectives::step_of(const Call& call, Collective kind) const {
  return {.kind = kind,
          .part_of = call.kind,
          .dtype = call.dtype,
          .reduce = call.reduce,
          .number = call.number,
          .step = call.step};
}

void HostCollectives::add(std::vector<MessagePiece>& pieces, int peer, const void* data, int64_t first,
                          Interval piece) const {
  if (piece.count() == 0) return;
  pieces.push_back({peer, byte_of(data, (piece.begin - first) * item_), piece.count() * item_});
}

void HostCollectives::find_begins(std::span<const int64_t> counts) {
  begins_.assign(1, 0);
  for (const int64_t count : counts) begins_.push_back(begins_.back() + count);
}

void HostCollectives::near_all_to_all(const Call& call, const void* send, void* recv, Phase phase) {
  Call step = step_of(call, Collective::all_to_all);
  step.count = std::accumulate(given_.begin(), given_.end(), int64_t{0});
  step.counts = given_;
  step.recv_counts = taken_;
  step.send = send;
  step.recv = recv;
  near_->run(step, patience(phase));
}

void HostCollectives::share_near(const Call& call, std::byte* data, int64_t count) {
  given_.clear();
  for (int i = 0; i < here(); ++i) given_.push_back(share_of(0, count, i, here()).count());
  Call step = step_of(call, Collective::all_gather);
  step.count = count;
  step.counts = given_;
  step.send = byte_of(data, share_of(0, count, place_, here()).begin * item_);
  step.recv = data;
  near_->run(step, patience(Phase::last));
}

int64_t HostCollectives::per_round() const {
  // An owner holds the contribution of each rank of its host to its share.
  return std::max<int64_t>(1, Carrier::kMaxBytes / item_ * blocks_.shares() / blocks_.most());
}

void HostCollectives::share_out(int64_t count) {
  const int owners = blocks_.shares();
  given_.assign(here(), 0);
  for (int i = 0; i < owners; ++i) given_[i] = share_of(0, count, i, owners).count();
  make_room(share_, given_[place_] * item_);
}

void HostCollectives::reduce_to_owners(const Call& call, const void* data, bool returns) {
  const int block = blocks_.own;
  const int64_t own = given_[place_];
  taken_.assign(here(), own);
  make_room(contributions_, own * here() * item_);
  near_all_to_all(call, data, contributions_.data(), Phase::first);
  if (place_ >= blocks_.shares()) return;
  sources_.clear();
  for (int i = 0; i < here(); ++i) sources_.push_back(contributions_.data() + i * own * item_);
  messages_.chain_reduce(call,
                         {.own = sources_,
                          .count = own,
                          .result = share_.data(),
                          .previous = block > 0 ? blocks_.begins[block - 1] + place_ : -1,
                          .next = block + 1 < blocks_.count() ? blocks_.begins[block + 1] + place_ : -1,
                          .returns = returns,
                          .sends = sends_,
                          .receives = receives_},
                         patience(Phase::after_others));
}

void HostCollectives::all_reduce(const Call& call) {
  sends_.clear();
  receives_.clear();
  for (int64_t done = 0; done < call.count; done += per_round()) {
    const int64_t count = std::min(call.count - done, per_round());
    std::byte* const data = byte_of(call.recv, done * item_);
    share_out(count);
    reduce_to_owners(call, data, /*returns=*/true);
    Call step = step_of(call, Collective::all_gather);
    step.count = count;
    step.counts = given_;
    step.send = share_.data();
    step.recv = data;
    near_->run(step, patience(Phase::last));
  }
}

void HostCollectives::reduce_scatter(const Call& call) {
  find_begins(call.counts);
  for (int64_t done = 0; done < call.count; done += per_round()) {
    const Interval round{done, std::min(call.count, done + per_round())};
    share_out(round.count());
    plan_scatter(call, round);
    reduce_to_owners(call, byte_of(call.send, done * item_), /*returns=*/false);
    if (place_ >= blocks_.shares()) messages_.move(call, sends_, receives_, patience(Phase::last));
    if (blocks_.own + 1 == blocks_.count()) scatter_near(call, round);
  }
}

void HostCollectives::plan_scatter(const Call& call, Interval round) {
  const int last = blocks_.count() - 1, owners = blocks_.shares(), first_owner = blocks_.begins[last];
  const Interval mine = part_of(rank_);
  sends_.clear();
  receives_.clear();
  // The pieces of each chunk. All ranks split them the same way.
  const int64_t per_chunk = ChainPart::kChunkBytes / item_;
  for (int owner = 0; owner < owners; ++owner) {
    const Interval held = share_of(round.begin, round.count(), owner, owners);
    for (int64_t begin = held.begin; begin < held.end; begin += per_chunk) {
      const Interval chunk{begin, std::min(held.end, begin + per_chunk)};
      if (blocks_.own != last) add(receives_, first_owner + owner, call.recv, mine.begin, common(chunk, mine));
      for (int r = 0; r < first_owner && rank_ == first_owner + owner; ++r) {
        add(sends_, r, share_.data(), held.begin, common(chunk, part_of(r)));
      }
    }
  }
}

void HostCollectives::scatter_near(const Call& call, Interval round) {
  const int owners = blocks_.shares();
  const Interval mine = part_of(rank_);
  const auto share = [&](int owner) { return share_of(round.begin, round.count(), owner, owners); };
  const Interval held = place_ < owners ? share(place_) : Interval{};
  given_.clear();
  taken_.assign(here(), 0);
  for (int i = 0; i < here(); ++i) given_.push_back(common(held, part_of(blocks_.begin() + i)).count());
  for (int i = 0; i < owners; ++i) taken_[i] = common(share(i), mine).count();
  const int64_t elsewhere = std::clamp<int64_t>(part_of_block(blocks_.own).begin - held.begin, 0, held.count());
  near_all_to_all(call, byte_of(share_.data(), elsewhere * item_),
                  byte_of(call.recv, std::clamp<int64_t>(round.begin - mine.begin, 0, mine.count()) * item_),
                  Phase::last);
}

void HostCollectives::all_gather(const Call& call) {
  find_begins(call.counts);
  const Interval mine = part_of(rank_), block = part_of_block(blocks_.own);
  // Starts with the step that waits for no other host.
  Call step = step_of(call, Collective::all_gather);
  step.count = block.count();
  step.counts = call.counts.subspan(blocks_.begin(), here());
  step.send = call.send;
  step.recv = byte_of(call.recv, block.begin * item_);
  near_->run(step, patience(Phase::first));
  sends_.clear();
  receives_.clear();
  for (int other = 0; other < blocks_.count(); ++other) {
    if (other == blocks_.own) continue;
    // Each rank of a host receives a share of another host's data.
    const Interval theirs = part_of_block(other);
    const Interval taken = share_of(theirs.begin, theirs.count(), place_, here());
    for (int r = blocks_.begins[other]; r < blocks_.begins[other + 1]; ++r) {
      add(receives_, r, call.recv, 0, common(taken, part_of(r)));
    }
    const int there = blocks_.begins[other + 1] - blocks_.begins[other];
    for (int i = 0; i < there; ++i) {
      add(sends_, blocks_.begins[other] + i, call.send, mine.begin,
          common(share_of(block.begin, block.count(), i, there), mine));
    }
  }
  messages_.move(call, sends_, receives_, patience(Phase::after_others));
  for (int other = 0; other < blocks_.count(); ++other) {
    if (other == blocks_.own) continue;
    const Interval theirs = part_of_block(other);
    share_near(call, byte_of(call.recv, theirs.begin * item_), theirs.count());
  }
}

void HostCollectives::broadcast(const Call& call) {
  const bool is_near = call.root >= blocks_.begin() && call.root < blocks_.begin() + here();
  if (is_near) {
    Call step = step_of(call, Collective::broadcast);
    step.root = call.root - blocks_.begin();
    step.count = call.count;
    step.recv = call.recv;
    near_->run(step, patience(Phase::first));
  }
  sends_.clear();
  receives_.clear();
  for (int other = 0; other < blocks_.count() && rank_ == call.root; ++other) {
    const int there = blocks_.begins[other + 1] - blocks_.begins[other];
    for (int i = 0; i < there && other != blocks_.own; ++i) {
      add(sends_, blocks_.begins[other] + i, call.recv, 0, share_of(0, call.count, i, there));
    }
  }
  if (!is_near) add(receives_, call.root, call.recv, 0, share_of(0, call.count, place_, here()));
  messages_.move(call, sends_, receives_, patience(Phase::after_others));
  if (!is_near) share_near(call, byte_of(call.recv, 0), call.count);
}

}  // namespace partita
