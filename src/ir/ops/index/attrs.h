#pragma once
// Attributes of the ops of this folder. The whole = the tensor before it is cut.

#include "base/fields.h"
#include "ir/sharding/rule.h"

namespace partita {

/// Rows of a table.
struct TableRowsAttrs {
  int64_t begin = 0;  // global index of the first local row
  int64_t rows = 0;   // rows of the whole table; 0 = those of the operand
  static constexpr auto fields() {
    return std::tuple{field("begin", &TableRowsAttrs::begin), field("rows", &TableRowsAttrs::rows)};
  }
  /// Returns the rows of the whole table.
  int64_t total(int64_t local_rows) const { return rows > 0 ? rows : local_rows; }
};
/// Sets the rows of a shard of the table, operand 0.
inline void localize_rows(TableRowsAttrs& attrs, const Shard& shard) {
  const Range& range = shard.inputs[0][0];
  if (range.whole()) return;
  attrs = {attrs.begin + range.begin, attrs.total(range.size)};
}
using EmbeddingAttrs = TableRowsAttrs;
using ScatterAddAttrs = TableRowsAttrs;

struct ScatterRowsAttrs {
  int64_t rows = 1;   // rows of the result
  int64_t begin = 0;  // global index of its first row
  int64_t total = 1;  // rows of the whole table
  static constexpr auto fields() {
    return std::tuple{field("rows", &ScatterRowsAttrs::rows), field("begin", &ScatterRowsAttrs::begin),
                      field("total", &ScatterRowsAttrs::total)};
  }
};

struct OneHotAttrs {
  int64_t depth = 1;    // local columns
  int64_t begin = 0;    // global index of the first local column
  int64_t classes = 0;  // larger and negative ids are errors; 0 = such ids have no column
  double on_value = 1, off_value = 0;
  DType dtype = DType::f32;
  static constexpr auto fields() {
    using A = OneHotAttrs;
    return std::tuple{field("depth", &A::depth),       field("begin", &A::begin),         field("classes", &A::classes),
                      field("on_value", &A::on_value), field("off_value", &A::off_value), field("dtype", &A::dtype)};
  }
};

/// A part of the columns, or slots, of the operand.
struct PartAttrs {
  int64_t begin = 0;  // global index of the first local column
  int64_t total = 0;  // columns of the whole; 0 = those of the operand
  static constexpr auto fields() {
    return std::tuple{field("begin", &PartAttrs::begin), field("total", &PartAttrs::total)};
  }
  /// Returns the columns of the whole.
  int64_t whole(int64_t local) const { return total != 0 ? total : local; }
};
/// Sets the part of a shard that holds `range` of the columns.
inline void localize_part(PartAttrs& attrs, const Range& range) {
  if (range.whole()) return;
  attrs = {attrs.begin + range.begin, attrs.whole(range.size)};
}
using TakeAlongAttrs = PartAttrs;

/// A part of the columns, or slots, of the result.
struct ResultPartAttrs {
  int64_t size = 1;   // columns of the result
  int64_t begin = 0;  // global index of its first column
  int64_t total = 0;  // columns of the whole; 0 = those of the result
  static constexpr auto fields() {
    return std::tuple{field("size", &ResultPartAttrs::size), field("begin", &ResultPartAttrs::begin),
                      field("total", &ResultPartAttrs::total)};
  }
  /// Returns the columns of the whole.
  int64_t whole() const { return total != 0 ? total : size; }
};
inline void localize_part(ResultPartAttrs& attrs, const Range& range) {
  if (range.whole()) return;
  attrs = {range.count(), attrs.begin + range.begin, attrs.whole()};
}
using PutAlongAttrs = ResultPartAttrs;

struct FirstColumnAttrs {
  int64_t begin = 0;  // global index of the first local column
  static constexpr auto fields() { return std::tuple{field("begin", &FirstColumnAttrs::begin)}; }
};
/// Sets the column of a shard of operand 0.
inline void localize_first_column(FirstColumnAttrs& attrs, const Shard& shard) {
  attrs.begin += shard.inputs[0].back().begin;
}
using PickAttrs = FirstColumnAttrs;
using FirstEqualAttrs = FirstColumnAttrs;

struct TopKAttrs {
  int64_t k = 1;
  static constexpr auto fields() { return std::tuple{field("k", &TopKAttrs::k)}; }
};

}  // namespace partita
