#pragma once
// Losses: the mean over the global batch of one number per sample.

#include <optional>

#include "base/names.h"
#include "frontend/network/layer.h"

namespace partita {

/// Labels are classes (integers), or a number for each logit: one-hot or soft labels, targets. sparse:
/// fused softmax cross entropy with classes alone; dense: the same with one-hot or soft labels;
/// expanded: the same from elementary ops, safe at log(0); binary: of each class by itself; mse, mae: of the logits
/// against the labels.
enum class Loss { sparse, dense, expanded, binary, mse, mae };
template <>
inline constexpr auto kNames<Loss> = names("sparse", "dense", "expanded", "binary", "mse", "mae");

struct LossOptions {
  /// Samples of this class count for nothing: the mean is over the others of the global batch, and 0 where there are
  /// none. It need not be one of the classes of the logits.
  std::optional<int64_t> ignore_index{};
};

/// logits[.., classes], label i32[..] or of the type of the logits -> a scalar. Throws InvalidArgument for a label that
/// does not fit, and for an ignore_index that no label can be.
Value build_loss(Loss loss, Builder& builder, Value logits, Value label, const LossOptions& options = {});

/// The same before the mean: [..], one number for each sample, of binary, mse and mae their means over the classes.
Value sample_losses(Loss loss, Builder& builder, Value logits, Value label);

/// The class of the input "label" whose samples the output "loss" of a graph leaves out, as `build_loss` with an
/// ignore_index does; none where there is none or more than one.
std::optional<int64_t> find_ignored_class(const Graph& graph);

}  // namespace partita
