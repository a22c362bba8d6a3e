#pragma once
// The work of one kernel call: its kind, operations, bytes and sizes.

#include <string>

#include "base/dtype.h"
#include "base/names.h"

namespace partita {

/// Kind of a computation, as far as its speed depends on it.
enum class WorkKind { product, convolution, attention, normalisation, pointwise, reduction, lookup, copy };
constexpr auto value_names(WorkKind) {
  return names("product", "convolution", "attention", "normalisation", "pointwise", "reduction", "lookup", "copy");
}

/// Work of one kernel call. The sizes are those of `batch` products of `rows` x `depth` by `depth` x `columns`: for
/// attention the product that makes the scores, for a convolution the product of patches and filters. 0 means unknown.
struct Work {
  WorkKind kind = WorkKind::pointwise;
  DType dtype = DType::f32;
  double flops = 0;
  double bytes = 0;  // read and written
  double batch = 1, rows = 0, columns = 0, depth = 0;
  std::string op = "";    // for devices with measured speeds of single ops
  bool repeated = false;  // whether it is part of a repeated layer
};

}  // namespace partita
