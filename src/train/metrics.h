#pragma once
// Counts over the rows of one batch; ranks add them up.

#include "base/shape.h"

namespace partita {

/// Rows whose largest logit is at the label. `logits` is [.., classes]; `labels` are ids [..] of an
/// integer type, or one-hot rows of the shape of `logits`. A row with a NaN is never right.
int64_t count_correct(const ConstTensor& logits, const ConstTensor& labels);

}  // namespace partita
