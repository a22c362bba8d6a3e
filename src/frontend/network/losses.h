#pragma once
// Losses: the mean over the global batch of one number per sample.

#include "frontend/network/layer.h"
#include "frontend/network/loss_options.h"

namespace partita {

/// Returns the loss, a scalar, from logits[.., classes] and label[..] (integers) or, except for sparse, label[..,
/// classes] (floats). Throws InvalidArgument for scalar logits, a label that does not fit, and an ignore_index that no
/// label can equal.
Value build_loss(Loss loss, Builder& builder, Value logits, Value label, const LossOptions& options = {});

/// Returns the loss before the mean over samples: [..], one number per sample. For binary, mse and mae it is the mean
/// over the classes. Takes logits and labels as `build_loss` does. Throws InvalidArgument for scalar logits and a label
/// that does not fit.
Value sample_losses(Loss loss, Builder& builder, Value logits, Value label);

/// Returns the class of the input "label" whose samples the output "loss" of a graph ignores, as `build_loss` with an
/// ignore_index makes it. Returns nothing if there is none or more than one.
std::optional<int64_t> find_ignored_class(const Graph& graph);

}  // namespace partita
