#pragma once
// What a network reads: the columns of a batch, each an input of the graph.

#include <vector>

#include "base/column.h"
#include "ir/graph/builder.h"

namespace partita {

/// The columns of a batch while a network is built. A column becomes an input of the graph, [batch, ..row], when it is
/// first asked for; columns that nothing asks for are not fed.
class Columns {
 public:
  /// `dtype`: what the network computes in. Throws InvalidArgument unless `batch` is at least 1.
  Columns(Builder& builder, std::vector<Column> columns, int64_t batch, DType dtype);

  /// Floats in the type that the network computes in, other types as they are. Throws InvalidArgument with the nearest
  /// name when there is no such column.
  Value at(std::string_view name);
  /// The same of rows of this shape, -1 for any size of a dimension. Throws InvalidArgument, with both shapes, for
  /// others: layers take their sizes from whatever rows come, also from images with their channels last.
  Value at(std::string_view name, const Shape& row);
  /// In the type of the column, whatever the network computes in: labels keep their digits.
  Value as_given(std::string_view name);
  bool contains(std::string_view name) const;
  /// The first column that is not called "label". Throws InvalidArgument when there is none.
  Value first();
  int64_t batch() const { return batch_; }
  Builder& builder() const { return builder_; }

 private:
  struct Read {
    Value given, converted;  // empty until they are asked for
  };

  size_t position(std::string_view name) const;
  Value given(size_t column);
  Value converted(size_t column);

  Builder& builder_;
  std::vector<Column> columns_;
  std::vector<Read> read_;  // per column
  int64_t batch_;
  DType dtype_;
};

}  // namespace partita
