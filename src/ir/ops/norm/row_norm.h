#pragma once
// Helpers shared by layer_norm and rms_norm: rows of the last dimension, each normalized by its own statistics.

#include "ir/ops/norm/softmax.h"
#include "ir/ops/wide.h"

namespace partita {

struct RowNormAttrs {
  double epsilon = 1e-5;
  static constexpr auto fields() { return std::tuple{field("epsilon", &RowNormAttrs::epsilon)}; }
};

/// Returns the type of a statistic per row of x[.., z]: [.., 1] in the wide type.
Type row_statistic(const Type& x);
/// Checks that there are `operands` operands, operand 0, x, is a float with a last dimension z, and the `channels`
/// operands from `first` on are [z] in the element type of x. Throws InvalidArgument otherwise.
void require_row_norm(std::string_view op, const OpCall& call, size_t operands, size_t first, size_t channels);
/// Checks that epsilon is above 0 and finite. Throws InvalidArgument otherwise.
void require_epsilon(std::string_view op, double epsilon);
/// Returns the sum over the last dimension, kept with size 1 (`sum_last`), or over all other dimensions (`sum_rows`),
/// `x` itself if there are none.
Value sum_last(const ExpandCall& call, Value x);
Value sum_rows(const ExpandCall& call, Value x);

}  // namespace partita
