#pragma once
// Datasets: random access to rows with named columns, as small composable views.
//
// A row is a function of (epoch, index): shuffling and augmentation draw from counter-based numbers
// keyed by (seed, epoch, sample index), so the order is global and the same for any number of ranks
// and workers.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/column.h"

namespace partita {

using Row = std::vector<Array>;  // one array per column

enum class Split { train, test };

inline constexpr int64_t kMaxEpochs = int64_t{1} << 40;

/// One batch: per column an array with a leading batch dimension.
struct Batch {
  std::vector<Column> columns;
  std::vector<Array> arrays;
  int64_t epoch = 0;
  int64_t index = 0;  // position in the epoch
};

/// A number of a column.
struct FoundInteger {
  int64_t value = 0;
  std::string place;  // "row 7", "offset 12 of notes.txt"
  bool is_in_file = false;
};

/// The least and the greatest number of a column, each at its first place.
struct IntegerRange {
  FoundInteger least, greatest;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const std::vector<Column>& columns() const = 0;
  /// Rows of one epoch.
  virtual int64_t size() const = 0;
  /// The identity of a row's sample, the key of its augmentation; views pass it through.
  virtual int64_t sample(int64_t epoch, int64_t index) const { return (void)epoch, index; }

  /// The numbers of a column over all rows, floats cut off as by a cast; none where rows are not in memory, or not all
  /// of those in memory are rows of this data set.
  virtual std::optional<IntegerRange> integers(size_t column) const { return (void)column, std::nullopt; }

  /// Writes the rows `indices` of `epoch` one after another into one tensor per column, which has a
  /// leading dimension of indices.size(). Throws InvalidArgument when an index is outside [0, size)
  /// or the epoch outside [0, kMaxEpochs]. Thread-safe.
  void read(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const;
  Row row(int64_t epoch, int64_t index) const;

 protected:
  /// `read` after its checks. Many rows at once, so that scratch memory is taken once per batch.
  virtual void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const = 0;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

/// The position of the column `name`; throws InvalidArgument with the nearest name.
size_t find_column(const Dataset& dataset, std::string_view name);

/// Throws InvalidArgument when two columns have one name.
void check_distinct(const std::vector<Column>& columns);

/// The type of `rows` values of `type` with a leading dimension.
Type batch_type(const Type& type, int64_t rows);

/// Rows [first, first + count) of batch tensors.
std::vector<Tensor> slice_rows(std::span<const Tensor> batch, int64_t first, int64_t count);

}  // namespace partita
