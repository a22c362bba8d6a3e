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
  /// Takes the columns of `batch` rows for the graph of `builder`; `dtype` is the float type that the network computes
  /// in. Throws InvalidArgument unless `batch` is at least 1.
  Columns(Builder& builder, std::vector<Column> columns, int64_t batch, DType dtype);

  /// Returns the column `name`, with floats in the type that the network computes in and other types unchanged. Throws
  /// InvalidArgument if there is no such column, with the nearest name, if `require_layer_shape` refuses [batch, ..row]
  /// or it has more than kMaxDims dimensions, and if a state has this name.
  Value at(std::string_view name);
  /// Returns the column `name` as `at(name)` does, if its rows have the shape `row`, where -1 stands for any size.
  /// Layers would accept rows of other shapes, since they take their sizes from the rows, even from images with
  /// channels last. Throws as `at(name)` does, and InvalidArgument, with both shapes, for rows of another shape.
  Value at(std::string_view name, const Shape& row);
  /// Returns the column `name` in its own type, not that of the network, so that labels keep their precision. Throws as
  /// `at(name)` does.
  Value as_given(std::string_view name);
  bool contains(std::string_view name) const;
  /// Returns the first column that is not called "label", converted as by `at(name)`. Throws InvalidArgument if there
  /// is none, and as `at(name)` does.
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
