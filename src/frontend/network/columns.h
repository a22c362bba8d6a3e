#pragma once
// The columns of a batch as inputs of a graph.

#include <vector>

#include "base/column.h"
#include "ir/graph/builder.h"

namespace partita {

/// The columns of a batch while a network is built. A column becomes an input of the graph, [batch, ..row], when it is
/// first requested; columns that are never requested are not fed.
class Columns {
 public:
  /// `dtype`: what the network computes in. Throws InvalidArgument unless `batch` is at least 1.
  Columns(Builder& builder, std::vector<Column> columns, int64_t batch, DType dtype);

  /// Returns the column, with floats in the type that the network computes in and other types unchanged. Throws
  /// InvalidArgument with the nearest name if there is no such column, and for rows that `require_layer_shape` refuses.
  Value at(std::string_view name);
  /// Returns the column as `at(name)` does, if its rows have the shape `row`, where -1 stands for any size. Throws as
  /// `at(name)` does, and InvalidArgument, with both shapes, for other rows. Layers would accept them, since they take
  /// their sizes from the rows, even from images with channels last.
  Value at(std::string_view name, const Shape& row);
  /// Returns the column in its own type, not that of the network, so that labels keep their precision. Throws as `at`
  /// does.
  Value as_given(std::string_view name);
  bool contains(std::string_view name) const;
  /// Returns the first column that is not called "label", converted as by `at`. Throws InvalidArgument if there is
  /// none, and as `at` does.
  Value first();
  int64_t batch() const { return batch_; }
  Builder& builder() const { return builder_; }

 private:
  struct Read {
    Value given, converted;  // empty until they are requested
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
