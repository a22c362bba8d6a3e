#pragma once
// What take_along and put_along share: indices into the last dimension of a tensor.

#include "ops/support.h"

namespace partita {

/// Throws unless the operands are floats and integer indices with equal leading dimensions.
inline void require_along(std::string_view op, const OpCall& call, bool equal_last) {
  require_operands(op, call, 2);
  require_float(op, call);
  const Type &x = call.inputs[0], &indices = call.inputs[1];
  if (indices.dtype != DType::i32 && indices.dtype != DType::i64) {
    reject(op, "indices are not integers", print(indices), "i32 or i64", ErrorKind::type);
  }
  bool fits = x.rank() > 0 && x.rank() == indices.rank();
  for (int d = 0; fits && d + (equal_last ? 0 : 1) < x.rank(); ++d) fits = x.shape[d] == indices.shape[d];
  if (fits) return;
  reject(op, "operands do not fit", print(call.inputs),
         equal_last ? "equal shapes with a last dimension" : "shapes that are equal but for the last dimension");
}

/// Throws unless 0 <= index < size.
inline void require_index(std::string_view op, int64_t index, int64_t size) {
  if (index >= 0 && index < size) return;
  reject(op, "index is outside the last dimension", fmt::format("{}", index), fmt::format("0 to {}", size - 1),
         ErrorKind::index);
}

}  // namespace partita
