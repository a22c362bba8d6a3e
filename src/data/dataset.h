#pragma once
// Datasets: random access to rows with named columns, as small composable views.
//
// A row is a function of (epoch, index): shuffling and augmentation draw from counter-based numbers
// keyed by (seed, epoch, sample index), so the order is global and the same for any number of ranks
// and workers.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/shape.h"

namespace partita {

struct Column {
  std::string name;  // "image", "label"
  Type type;         // of one row, without a batch dimension
};

using Row = std::vector<Array>;  // one array per column

/// One batch: per column an array with a leading batch dimension.
struct Batch {
  std::vector<Column> columns;
  std::vector<Array> arrays;
  int64_t epoch = 0;
  int64_t index = 0;  // position in the epoch
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const std::vector<Column>& columns() const = 0;
  /// Rows of one epoch.
  virtual int64_t size() const = 0;
  /// Throws InvalidArgument when `index` is outside [0, size). Thread-safe.
  virtual Row row(int64_t epoch, int64_t index) const = 0;
  /// The identity of a row's sample, the key of its augmentation; views pass it through.
  virtual int64_t sample(int64_t epoch, int64_t index) const { return (void)epoch, index; }
};

using DatasetPtr = std::shared_ptr<const Dataset>;

}  // namespace partita
