#pragma once
// Operations of StableHLO that the emissions of several ops write.

#include "ir/graph/op_def.h"

namespace partita {

/// Returns an operand of a formula in the type in which kernels compute: 16-bit floats in f32. exp(12) is no number of
/// f16, but sigmoid(-12) is one.
Traced computed_operand(const EmitCall& call, const Hlo& x);
/// Returns the result of a formula of such operands in its own type, rounded once.
Hlo rounded_result(const EmitCall& call, const Traced& y, const Type& type);

/// Returns 0, 1, .. along one dimension of a type.
Hlo hlo_iota(const EmitCall& call, int64_t dim, const Type& type);
/// Returns a list of numbers, which is not empty, in one dimension.
Hlo hlo_list(const EmitCall& call, const std::vector<double>& numbers);
Hlo hlo_list(const EmitCall& call, const std::vector<int64_t>& numbers);

/// Returns `x` with dimension dims[i] as dimension i.
Hlo hlo_transpose(const EmitCall& call, const Hlo& x, const std::vector<int64_t>& dims);
/// Returns every `steps[d]`-th element from `begin` up to `end`.
Hlo hlo_slice(const EmitCall& call, const Hlo& x, const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
              const std::vector<int64_t>& steps);

/// Elements to add along one dimension. Numbers before and after that are negative cut elements off.
struct HloEdge {
  int64_t before = 0, after = 0, between = 0;
};
/// Returns `x` with `fill`, a scalar, at the edges: one for each of the last dimensions.
Hlo hlo_pad(const EmitCall& call, const Hlo& x, const Hlo& fill, const std::vector<HloEdge>& edges);

/// Returns the rows of table[v, z] by number, with dimension z last. Numbers outside of the table give zeros.
Hlo hlo_rows(const EmitCall& call, const Hlo& table, const Hlo& numbers);
/// Returns [count, z] with, in row r, the sum of the rows of `updates` whose number is r, added in f32 or f64. Numbers
/// outside of the table are left out. The order of the sum is not fixed.
Hlo hlo_add_rows(const EmitCall& call, int64_t count, const Hlo& numbers, const Hlo& updates);

/// Returns x[count, z] with rows[n, z] in place of its rows numbers[n]. Numbers outside of x are left out; of equal
/// ones the last row counts on a CPU, any of them on other devices.
Hlo hlo_set_rows(const EmitCall& call, const Hlo& x, const Hlo& numbers, const Hlo& rows);

/// Returns a number of a row of [groups * rows, z] for each of `ids`, in `groups` groups of equal size one after
/// another: that of row id - begin of its group, or -1 if the group has no such row.
Hlo hlo_rows_of_groups(const EmitCall& call, const Hlo& ids, int64_t groups, int64_t begin, int64_t rows);

/// Returns, along a dimension, the sums of the elements up to each one. Sums of pairs are summed in the same way and
/// then spread, so that n elements take about 2 n additions and the order is fixed.
Hlo hlo_running_sums(const EmitCall& call, const Hlo& x, int64_t axis);

}  // namespace partita
