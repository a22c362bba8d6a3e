// Transposes that keep the last dimension in place: rows are copied.

#include <cstring>

#include "ir/ops/shape/attrs.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kTranspose = "loops.transpose";

/// Moves of rows of equal size, in the order of the result.
struct RowMoves {
  Shape outer, strides;  // sizes and operand strides, in rows, of the result's dimensions before the rows
  int64_t rows = 1, bytes = 0;
};

RowMoves row_moves(const KernelQuery& query) {
  const std::vector<int64_t>& perm = query.attrs.as<TransposeAttrs>().perm;
  const Type& x = query.inputs[0];
  size_t kept = perm.size();  // dimensions from here on keep their place
  int64_t row = 1;
  while (kept > 0 && perm[kept - 1] == static_cast<int64_t>(kept) - 1) row *= x.shape[--kept];
  const Shape of_rows = strides_of(Shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(kept)));
  RowMoves moves{.bytes = row * static_cast<int64_t>(size_of(x.dtype))};
  for (size_t d = 0; d < kept; ++d) {
    moves.outer.push_back(x.shape[perm[d]]);
    moves.strides.push_back(of_rows[perm[d]]);
    moves.rows *= x.shape[perm[d]];
  }
  return moves;
}

KernelChoice propose_transpose(const KernelQuery& query) {
  const std::vector<int64_t>& perm = query.attrs.as<TransposeAttrs>().perm;
  if (perm.empty() || perm.back() != static_cast<int64_t>(perm.size()) - 1) return refuse("the last dimension moves");
  return {.kernel = kTranspose, .inputs = {MemoryFormat{}}, .outputs = {MemoryFormat{}}};
}

}  // namespace

std::vector<KernelDef> transpose_kernels() {
  KernelDef def{.name = kTranspose, .ops = {"transpose"}, .propose = propose_transpose};
  def.make = [](const KernelQuery& query, const KernelChoice&) {
    return make_loop([moves = row_moves(query)](auto in, auto out, void*) {
      const auto* from = static_cast<const std::byte*>(in[0]);
      auto* to = static_cast<std::byte*>(out[0]);
#pragma omp parallel for if (moves.rows * moves.bytes > 4 * kSerialElements)
      for (int64_t row = 0; row < moves.rows; ++row) {
        int64_t at = 0, left = row;
        for (size_t d = moves.outer.size(); d-- > 0; left /= moves.outer[d]) {
          at += left % moves.outer[d] * moves.strides[d];
        }
        std::memcpy(to + row * moves.bytes, from + at * moves.bytes, static_cast<size_t>(moves.bytes));
      }
    });
  };
  return {def};
}

}  // namespace partita
