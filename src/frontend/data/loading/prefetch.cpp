#include "frontend/data/loading/prefetch.h"

#include <utility>

#include "base/resources.h"

namespace partita {

Prefetcher::Prefetcher(Batcher batcher, PrefetchOptions options, DataPosition start)
    : batcher_(std::move(batcher)), position_(start) {
  constexpr int kMaxWorkers = 64;
  constexpr int kMaxDepth = 1024;
  if (options.workers < 1 || options.workers > kMaxWorkers) {
    throw InvalidArgument("[prefetch] bad number of workers, got {}, expected 1 to {}", options.workers, kMaxWorkers);
  }
  if (options.depth < 1 || options.depth > kMaxDepth) {
    throw InvalidArgument("[prefetch] bad depth, got {}, expected 1 to {}", options.depth, kMaxDepth);
  }
  if (start.epoch < 0 || start.epoch > kMaxEpochs || start.batch < 0 || start.batch > batcher_.batches()) {
    throw InvalidArgument("[prefetch] bad start, got epoch {} batch {}, expected epoch 0 to {} and batch 0 to {}",
                          start.epoch, start.batch, kMaxEpochs, batcher_.batches());
  }
  if (start.batch == batcher_.batches()) position_ = {start.epoch + 1, 0};
  claim_ = position_;
  ring_.resize(static_cast<size_t>(options.depth));
  used_.reserve(ring_.size() + static_cast<size_t>(options.workers));
  used_.resize(ring_.size() + 1);  // for the ring and the consumer; later none are made
  for (Batch& batch : used_) batcher_.prepare(batch);
  workers_.reserve(static_cast<size_t>(options.workers));
  for (int i = 0; i < options.workers; ++i) {
    workers_.push_back(start_thread("a thread that reads batches", [this](std::stop_token stop) { work(stop); }));
  }
}

Batch Prefetcher::next() {
  Batch batch;
  next(batch);
  return batch;
}

void Prefetcher::next(Batch& batch) {
  std::unique_lock lock(mutex_);
  RingEntry& first = entry(given_);
  filled_.wait(lock, [&] { return first.filled(); });
  if (first.error) std::rethrow_exception(first.error);
  if (!batch.arrays.empty() && used_.size() < used_.capacity()) used_.push_back(std::move(batch));
  batch = std::move(*first.batch);
  first = {};
  ++given_;
  position_ = after(position_);
  lock.unlock();
  room_.notify_one();
}

bool Prefetcher::is_ready() {
  const std::lock_guard lock(mutex_);
  return entry(given_).filled() && !entry(given_).error;
}

void Prefetcher::work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const auto has_room = [&] { return claimed_ - given_ < static_cast<int64_t>(ring_.size()); };
  while (room_.wait(lock, stop, has_room) && !stop.stop_requested()) {
    const DataPosition claimed = claim_;
    const int64_t ticket = claimed_++;
    claim_ = after(claim_);
    RingEntry made;
    made.batch.emplace();
    if (!used_.empty()) {
      made.batch = std::move(used_.back());
      used_.pop_back();
    }
    lock.unlock();
    try {
      batcher_.read(claimed.epoch, claimed.batch, *made.batch);
    } catch (...) {
      made.error = std::current_exception();
    }
    lock.lock();
    entry(ticket) = std::move(made);
    filled_.notify_one();
  }
}

DataPosition Prefetcher::after(DataPosition position) const {
  const bool last = position.batch + 1 == batcher_.batches();
  return last ? DataPosition{position.epoch + 1, 0} : DataPosition{position.epoch, position.batch + 1};
}

}  // namespace partita
