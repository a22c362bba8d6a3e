#pragma once
// What layer_norm and rms_norm share: rows of the last dimension, normalised each by its own statistics.

#include "ir/ops/norm/softmax.h"
#include "ir/ops/wide.h"

namespace partita {

struct RowNormAttrs {
  double epsilon = 1e-5;
  static constexpr auto fields() { return std::tuple{field("epsilon", &RowNormAttrs::epsilon)}; }
};

/// [.., 1] in the wide type: one statistic per row of x[.., z].
Type row_statistic(const Type& x);
/// Throws unless x has a last dimension and `channels` operands from `first` on are [z].
void require_row_norm(std::string_view op, const OpCall& call, size_t operands, size_t first, size_t channels);
/// Throws unless epsilon is above 0 and finite.
void require_epsilon(std::string_view op, double epsilon);
/// The sum over the last dimension, kept, or over all others.
Value sum_last(const ExpandCall& call, Value x);
Value sum_rows(const ExpandCall& call, Value x);

}  // namespace partita
