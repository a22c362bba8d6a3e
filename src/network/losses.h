#pragma once
// Losses: the mean over the global batch of one number per sample.

#include "base/names.h"
#include "network/layer.h"

namespace partita {

/// Labels are classes (integers), or a number for each logit: one-hot or soft labels, targets. sparse:
/// fused softmax cross entropy with classes alone; dense: the same with one-hot or soft labels;
/// expanded: the same from elementary ops, safe at log(0); binary: of each class by itself; mse, mae: of the logits
/// against the labels.
enum class Loss { sparse, dense, expanded, binary, mse, mae };
template <>
inline constexpr auto kNames<Loss> = names("sparse", "dense", "expanded", "binary", "mse", "mae");

/// logits[.., classes], label i32[..] or of the type of the logits -> a scalar. Throws InvalidArgument for a label that
/// does not fit.
Value build_loss(Loss loss, Builder& builder, Value logits, Value label);

}  // namespace partita
