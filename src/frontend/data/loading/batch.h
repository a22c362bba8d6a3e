#pragma once
// Batches of a dataset, and the part of each that one rank gets.

#include "frontend/data/dataset.h"

namespace partita {

struct BatchOptions {
  int64_t batch = 32;          // rows of a global batch
  bool drop_remainder = true;  // leave out the last batch of an epoch when it is not full
  int64_t rank = 0;
  int64_t ranks = 1;
  /// Equal slices of the global batch, which they divide: a rank has its rows of each, one slice behind the other.
  int64_t micro_batches = 1;
};

/// Rank r of n has rows [r * rows / n, (r + 1) * rows / n) of a global batch or of a micro-batch, rounded down.
struct RowRange {
  int64_t first = 0;
  int64_t last = 0;  // one past
  int64_t size() const { return last - first; }
};
RowRange rows_of_rank(int64_t rows, int64_t rank, int64_t ranks);

/// Random access to the batches of a rank. Thread-safe; copies share the dataset.
class Batcher {
 public:
  /// Throws InvalidArgument for an empty dataset, options out of range, and a batch larger than the
  /// dataset when remainders are dropped.
  Batcher(DatasetPtr dataset, BatchOptions options);

  /// Batches of one epoch, the same for every rank.
  int64_t batches() const;
  /// This rank's rows of the global batch `index`; throws InvalidArgument outside [0, batches()).
  Batch batch(int64_t epoch, int64_t index) const;
  /// The same into `out`, whose arrays are used again where they have the right types.
  void read(int64_t epoch, int64_t index, Batch& out) const;
  /// Gives `out` arrays for this rank's rows of a full batch.
  void prepare(Batch& out) const { prepare(out, rows_of_rank(options_.batch, options_.rank, options_.ranks).size()); }

  const std::vector<Column>& columns() const { return dataset_->columns(); }
  const BatchOptions& options() const { return options_; }

 private:
  void prepare(Batch& out, int64_t rows) const;

  DatasetPtr dataset_;
  BatchOptions options_;
  int64_t rows_;
};

}  // namespace partita
