#pragma once
// Helpers shared by layer_norm and rms_norm: rows of the last dimension, each normalized by its own statistics.

#include "ir/ops/norm/softmax.h"
#include "ir/ops/wide.h"

namespace partita {

struct RowNormAttrs {
  double epsilon = 1e-5;
  static constexpr auto fields() { return std::tuple{field("epsilon", &RowNormAttrs::epsilon)}; }
};

/// The parts of a norm of the rows x[.., z]: y is computed from x, gamma[z] and, with two channels, beta[z]. There
/// is one statistic per row, rstd, or mean and rstd, each [.., 1] in the wide type.
struct RowNorm {
  size_t channels = 1;
  std::vector<std::string> statistics;
};

/// Returns the op with what row norms share: from x and the channels it computes y and the statistics. Its gradient is
/// the op NAME_grad.
OpDef row_norm_op(const std::string& name, const char* summary, const RowNorm& norm);
/// Returns the op of the gradients: from x, gamma, the statistics and d_y it computes d_x and the gradient of each
/// channel.
OpDef row_norm_grad_op(const std::string& name, const char* summary, const RowNorm& norm);

/// Returns the sum over the last dimension, kept with size 1 (`sum_last`), or over all other dimensions (`sum_rows`),
/// `x` itself if there are none.
Value sum_last(const ExpandCall& call, Value x);
Value sum_rows(const ExpandCall& call, Value x);

}  // namespace partita
