#pragma once
// Batches made ahead of their use by worker threads.

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "frontend/data/loading/batch.h"

namespace partita {

/// A place in the endless sequence of batches; part of a checkpoint.
struct DataPosition {
  int64_t epoch = 0;
  int64_t batch = 0;
  bool operator==(const DataPosition&) const = default;
};

struct PrefetchOptions {
  int workers = 1;
  int depth = 4;  // batches made ahead at most
};

/// Gives the batches from a position on, epoch after epoch, in order for any number of workers.
/// Workers sleep when `depth` batches wait. One thread consumes.
class Prefetcher {
 public:
  /// Throws InvalidArgument for options or a position out of range; a position just behind the last
  /// batch of an epoch is the start of the next.
  Prefetcher(Batcher batcher, PrefetchOptions options, DataPosition start = {});

  /// The next batch; rethrows what making it threw, each time it is asked for.
  Batch next();
  /// The same into `batch`, whose arrays a later batch uses again: memory that was used before is faster.
  void next(Batch& batch);
  /// Of the batch that `next` gives.
  DataPosition position() const { return position_; }

 private:
  struct RingEntry {
    std::optional<Batch> batch;
    std::exception_ptr error;
    bool filled() const { return batch || error; }
  };

  /// Outside of the reading of a batch nothing is allocated, so that a lack of memory is an error of the batch.
  void work(std::stop_token stop);
  RingEntry& entry(int64_t ticket) { return ring_[static_cast<size_t>(ticket) % ring_.size()]; }
  DataPosition after(DataPosition position) const;

  Batcher batcher_;
  DataPosition position_;  // consumer's
  std::mutex mutex_;
  std::condition_variable_any room_;
  std::condition_variable_any filled_;
  DataPosition claim_;               // the next position to be taken by a worker
  int64_t given_ = 0, claimed_ = 0;  // tickets, in the order of positions; between both are the entries of ring_ in use
  std::vector<RingEntry> ring_;      // `depth` entries
  std::vector<Batch> used_;          // given back
  std::vector<std::jthread> workers_;  // last: they stop before the rest goes
};

}  // namespace partita
