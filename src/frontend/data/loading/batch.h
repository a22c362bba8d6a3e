#pragma once
// Batches of a dataset, and the part of each that one rank reads.

#include "frontend/data/dataset.h"

namespace partita {

struct BatchOptions {
  int64_t batch = 32;          // rows of a global batch
  bool drop_remainder = true;  // skip the last batch of an epoch if it is not full
  int64_t rank = 0;
  int64_t ranks = 1;
  /// Number of equal slices of the global batch, a divisor of its size. A rank reads its rows of each slice, one slice
  /// after the other.
  int64_t micro_batches = 1;
};

/// The rows [first, last) of one rank. Rank r of n has rows [r * rows / n, (r + 1) * rows / n), rounded down, of a
/// global batch or micro-batch.
struct RowRange {
  int64_t first = 0;
  int64_t last = 0;  // one past the last
  int64_t size() const { return last - first; }
};
/// Returns the rows of `rank` among `ranks`: [rank * rows / ranks, (rank + 1) * rows / ranks), both rounded down.
RowRange rows_of_rank(int64_t rows, int64_t rank, int64_t ranks);

/// Random access to the batches of a rank. Thread-safe; copies share the dataset.
class Batcher {
 public:
  /// Makes the batches of one rank. Throws InvalidArgument for an empty dataset, a batch outside 1 to 2^40, ranks
  /// outside 1 to 65536, a rank outside [0, ranks), a batch larger than the dataset if remainders are dropped, and
  /// micro-batches that do not divide the batch, or several if remainders are kept.
  Batcher(DatasetPtr dataset, BatchOptions options);

  /// Number of batches per epoch, the same on every rank: rows / batch, rounded down if remainders are dropped, else
  /// up.
  int64_t batches() const;
  /// Returns this rank's rows of the global batch `index` of an epoch, those of one micro-batch after the other; a rank
  /// may have none if there are more ranks than rows. If remainders are kept, the last batch of an epoch may have fewer
  /// rows. Throws InvalidArgument if `index` is outside [0, batches()) or `epoch` outside [0, kMaxEpochs], and what
  /// functions that make or check the rows throw (`Dataset::read`).
  Batch batch(int64_t epoch, int64_t index) const;
  /// Writes what `batch` returns to `out`. Reuses the arrays of `out` that have the right types. Throws as `batch`
  /// does.
  void read(int64_t epoch, int64_t index, Batch& out) const;
  /// Sets the columns of `out`, and allocates its arrays for this rank's rows of a full batch, except those that have
  /// the right types already.
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
