#pragma once
// The fused update of Adam, which other optimizers use for some of their parameters.

#include "base/fields.h"
#include "ir/optimizers/optimizer_def.h"

namespace partita {

struct AdamAttrs {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;  // AdamW (Loshchilov and Hutter, 2019) instead of Adam (Kingma and Ba, 2015)
  /// Adds epsilon to the root of the second moment before its bias is corrected: the second form in section 2 of Kingma
  /// and Ba, 2015.
  bool biased_epsilon = false;
  static constexpr auto fields() {
    using A = AdamAttrs;
    return std::tuple{field("beta1", &A::beta1),         field("beta2", &A::beta2),
                      field("epsilon", &A::epsilon),     field("weight_decay", &A::weight_decay),
                      field("decoupled", &A::decoupled), field("biased_epsilon", &A::biased_epsilon)};
  }
};

/// Appends the update of a parameter by the op "adam", with the states "exp_avg" and "exp_avg_sq" and this learning
/// rate, and stores its results.
void build_adam(const UpdateCall& call, const AdamAttrs& attrs, Value rate);

}  // namespace partita
