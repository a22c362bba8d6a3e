#pragma once
// Attributes of the ops of this folder. The whole = the tensor before it is cut.

#include "base/fields.h"

namespace partita {

struct EmbeddingAttrs {
  int64_t begin = 0;  // global index of the first local row
  int64_t rows = 0;   // rows of the whole table; 0 = those of the operand
  static constexpr auto fields() {
    return std::tuple{field("begin", &EmbeddingAttrs::begin), field("rows", &EmbeddingAttrs::rows)};
  }
};

struct ScatterRowsAttrs {
  int64_t rows = 1;   // rows of the result
  int64_t begin = 0;  // global index of its first row
  int64_t total = 1;  // rows of the whole table
  static constexpr auto fields() {
    return std::tuple{field("rows", &ScatterRowsAttrs::rows), field("begin", &ScatterRowsAttrs::begin),
                      field("total", &ScatterRowsAttrs::total)};
  }
};

struct ScatterAddAttrs {
  int64_t begin = 0;  // global index of the first local row
  int64_t rows = 0;   // rows of the whole table; 0 = those of the operand
  static constexpr auto fields() {
    return std::tuple{field("begin", &ScatterAddAttrs::begin), field("rows", &ScatterAddAttrs::rows)};
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

struct PickAttrs {
  int64_t begin = 0;  // global index of the first local column
  static constexpr auto fields() { return std::tuple{field("begin", &PickAttrs::begin)}; }
};

struct TakeAlongAttrs {
  int64_t begin = 0;  // global index of the first local column
  int64_t total = 0;  // columns of the whole; 0 = those of the operand
  static constexpr auto fields() {
    return std::tuple{field("begin", &TakeAlongAttrs::begin), field("total", &TakeAlongAttrs::total)};
  }
};

struct PutAlongAttrs {
  int64_t size = 1;   // columns of the result
  int64_t begin = 0;  // global index of its first column
  int64_t total = 0;  // columns of the whole; 0 = those of the result
  static constexpr auto fields() {
    return std::tuple{field("size", &PutAlongAttrs::size), field("begin", &PutAlongAttrs::begin),
                      field("total", &PutAlongAttrs::total)};
  }
};

struct TopKAttrs {
  int64_t k = 1;
  static constexpr auto fields() { return std::tuple{field("k", &TopKAttrs::k)}; }
};

struct FirstEqualAttrs {
  int64_t begin = 0;  // global index of the first local column
  static constexpr auto fields() { return std::tuple{field("begin", &FirstEqualAttrs::begin)}; }
};

}  // namespace partita
