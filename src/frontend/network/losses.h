#pragma once
// Losses: the mean over the global batch of one number per sample.

#include <optional>

#include "base/names.h"
#include "frontend/network/layer.h"

namespace partita {

/// The loss functions. Labels are classes (integers), or a number per logit: one-hot or soft labels, or targets.
/// sparse: fused softmax cross entropy with classes only. dense: the same with classes, one-hot or soft labels.
/// expanded: like dense, from elementary ops, safe at log(0). binary: binary cross entropy per class. mse, mae: errors
/// of the logits against the labels.
enum class Loss { sparse, dense, expanded, binary, mse, mae };
template <>
inline constexpr auto kNames<Loss> = names("sparse", "dense", "expanded", "binary", "mse", "mae");

struct LossOptions {
  /// Samples of this class do not count: the mean is over the other samples of the global batch, or 0 if there are
  /// none. It need not be a class of the logits.
  std::optional<int64_t> ignore_index{};
};

/// Returns the loss, a scalar, from logits[.., classes] and label[..] (integers) or label[.., classes] (floats). Throws
/// InvalidArgument for a label that does not fit and for an ignore_index that no label can equal.
Value build_loss(Loss loss, Builder& builder, Value logits, Value label, const LossOptions& options = {});

/// Returns the loss before the mean over samples: [..], one number per sample. For binary, mse and mae it is the mean
/// over the classes. Throws InvalidArgument for a label that does not fit.
Value sample_losses(Loss loss, Builder& builder, Value logits, Value label);

/// Returns the class of the input "label" whose samples the output "loss" of a graph ignores, as `build_loss` with an
/// ignore_index makes it. Returns nothing if there is none or more than one.
std::optional<int64_t> find_ignored_class(const Graph& graph);

}  // namespace partita
