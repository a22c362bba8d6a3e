#pragma once
// Datasets: random access to rows with named columns, as small composable views.
//
// A row is a function of (epoch, index). Shuffling and augmentation use counter-based random numbers keyed by (seed,
// epoch, sample index). So the order is global, and the same for any number of ranks and workers.

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

/// An integer found in a column, and where.
struct FoundInteger {
  int64_t value = 0;
  std::string place;  // "row 7", "offset 12 of notes.txt"
  bool is_in_file = false;
};

/// The smallest and the largest integer of a column, each at its first place.
struct IntegerRange {
  FoundInteger least, greatest;
};

/// Random access to rows with named columns.
class Dataset {
 public:
  virtual ~Dataset() = default;
  /// Names and types of the columns of each row, in the order of a row's values.
  virtual const std::vector<Column>& columns() const = 0;
  /// Number of rows per epoch.
  virtual int64_t size() const = 0;
  /// Returns the identity of a row's sample, the key of its augmentation: by default the index. Views derive it from
  /// that of the row in their source, so that it follows a sample through a shuffle.
  virtual int64_t sample(int64_t epoch, int64_t index) const { return (void)epoch, index; }

  /// Whether functions of the program make rows or values when they are read. They may give others each time.
  virtual bool has_functions() const { return false; }

  /// Returns the smallest and the largest number of the column at a position over all rows, with fractions dropped as
  /// by a cast, each with the first place where it is. Returns nothing by default, if there are no numbers, if the rows
  /// are not in memory, if a map may change the numbers, or if rows in memory are not all part of this dataset.
  virtual std::optional<IntegerRange> integers(size_t column) const { return (void)column, std::nullopt; }

  /// Writes the rows `indices` of `epoch` one after another into one tensor per column, with a leading dimension of
  /// indices.size(). Thread-safe. Throws InvalidArgument if an index is outside [0, size) or the epoch outside [0,
  /// kMaxEpochs], InternalError for tensors of other types. Views and functions that make or check rows may throw other
  /// errors (`checked_ids`, `one_hot`, `generated_rows`).
  void read(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const;
  /// Returns one row: an array per column, in the order of `columns`. Throws as `read` does.
  Row row(int64_t epoch, int64_t index) const;

 protected:
  /// Writes the rows as `read` does, which has checked the arguments and calls it for one or more indices. Takes many
  /// rows at once, so that scratch memory is allocated once per batch.
  virtual void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const = 0;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

/// Returns the position of the column `name`. Throws InvalidArgument with the nearest name if there is none.
size_t find_column(const Dataset& dataset, std::string_view name);

/// Whether one of the datasets has functions.
bool have_functions(const std::vector<DatasetPtr>& datasets);

/// Checks that columns have distinct names. Throws InvalidArgument otherwise.
void check_distinct(const std::vector<Column>& columns);

/// Returns the type of `rows` values of `type` together: its shape with the leading dimension `rows`.
Type batch_type(const Type& type, int64_t rows);

/// Returns the rows [first, first + count) of batch tensors, one tensor per tensor of `batch`, in its memory without
/// copying. The range is not checked.
std::vector<Tensor> slice_rows(std::span<const Tensor> batch, int64_t first, int64_t count);

}  // namespace partita
