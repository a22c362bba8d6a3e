#pragma once
// The loss functions by name, and what they can be told.

#include <optional>

#include "base/names.h"

namespace partita {

/// The loss functions. Labels are classes (integers), or a number per logit: one-hot or soft labels, or targets.
/// sparse: fused softmax cross entropy with classes only. dense: the same with classes, one-hot or soft labels.
/// expanded: like dense, from elementary ops, safe at log(0). binary: binary cross entropy per class. mse, mae: errors
/// of the logits against the labels.
enum class Loss { sparse, dense, expanded, binary, mse, mae };
constexpr auto value_names(Loss) { return names("sparse", "dense", "expanded", "binary", "mse", "mae"); }

struct LossOptions {
  /// Samples of this class do not count: the mean is over the other samples of the global batch, or 0 if there are
  /// none. It need not be a class of the logits.
  std::optional<int64_t> ignore_index{};
};

}  // namespace partita
