#pragma once
// Batches prefetched by worker threads.

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "frontend/data/loading/batch.h"

namespace partita {

/// A position in the endless sequence of batches; part of a checkpoint.
struct DataPosition {
  int64_t epoch = 0;
  int64_t batch = 0;
  bool operator==(const DataPosition&) const = default;
};

struct PrefetchOptions {
  int workers = 1;
  int depth = 4;  // maximum number of batches prefetched
};

/// Returns the batches from a position on, epoch after epoch, in order for any number of workers. Workers sleep while
/// `depth` batches are ready or being read. Only one thread may consume.
class Prefetcher {
 public:
  /// Starts the workers, which read batches from `start` on. `start` may be just after the last batch of an epoch,
  /// which means the start of the next. Throws InvalidArgument for workers outside 1 to 64, a depth outside 1 to 1024,
  /// an epoch outside [0, kMaxEpochs] or a batch outside [0, batches()], RuntimeFailure(out_of_memory) if a thread
  /// cannot be started.
  Prefetcher(Batcher batcher, PrefetchOptions options, DataPosition start = {});

  /// Returns the batch at `position` and moves on to the one after it; waits until it is read. If reading it failed,
  /// rethrows that error on every call.
  Batch next();
  /// Stores the batch at `position` in `batch` and moves on to the one after it; waits until it is read. The arrays
  /// that `batch` had are reused for a later batch: memory that was used before is faster. If reading it failed,
  /// rethrows that error on every call.
  void next(Batch& batch);
  /// Whether `next` returns at once, and throws nothing.
  bool is_ready();
  /// Position of the batch that the next call of `next` returns.
  DataPosition position() const { return position_; }

 private:
  struct RingEntry {
    std::optional<Batch> batch;
    std::exception_ptr error;
    bool filled() const { return batch || error; }
  };

  /// Runs a worker until `stop` is requested: reads batches, and keeps their errors for `next`. Allocates nothing
  /// except while reading a batch, so that a lack of memory is an error of the batch.
  void work(std::stop_token stop);
  RingEntry& entry(int64_t ticket) { return ring_[static_cast<size_t>(ticket) % ring_.size()]; }
  DataPosition after(DataPosition position) const;

  Batcher batcher_;
  DataPosition position_;  // position of the consumer
  std::mutex mutex_;
  std::condition_variable_any room_;
  std::condition_variable_any filled_;
  DataPosition claim_;                 // the next position for a worker
  int64_t given_ = 0, claimed_ = 0;    // tickets, in the order of positions; entries of ring_ in between are in use
  std::vector<RingEntry> ring_;        // `depth` entries
  std::vector<Batch> used_;            // returned by the consumer, for reuse
  std::vector<std::jthread> workers_;  // last: they stop before the other members are destroyed
};

}  // namespace partita
