#pragma once
// Work of one kernel call: its kind, operations, bytes and sizes.

#include <string>

#include "base/dtype.h"
#include "base/names.h"

namespace partita {

/// Kind of a computation, as far as its speed depends on it.
enum class WorkKind { product, convolution, attention, normalisation, pointwise, reduction, lookup, copy };
template <>
inline constexpr auto kNames<WorkKind> = names("product", "convolution", "attention", "normalisation", "pointwise",
                                               "reduction", "lookup", "copy");

/// Work of one kernel call. The sizes are those of `batch` products of `rows` x `depth` by `depth` x `columns`: the
/// product that makes the scores of an attention, the product of patches by filters of a convolution. 0 means unknown.
struct Work {
  WorkKind kind = WorkKind::pointwise;
  DType dtype = DType::f32;
  double flops = 0;
  double bytes = 0;  // read and written
  double batch = 1, rows = 0, columns = 0, depth = 0;
  std::string op = "";    // for what a device says of single ops
  bool repeated = false;  // in a layer of which there are several
};

}  // namespace partita
