#pragma once
// Losses: the mean over the global batch of one number per sample.

#include "frontend/network/layer.h"
#include "frontend/network/loss_options.h"

namespace partita {

/// Returns the loss, a scalar in f32 or, for f64 logits, f64: the mean of `sample_losses` over all samples, or over
/// those whose label is not `ignore_index` (0 if there are none). Takes logits[.., classes] and label[..], classes in
/// i32 or i64, or, except for sparse, label[.., classes] in floats. Throws InvalidArgument for scalar logits, a label
/// of another type or shape, and an ignore_index with float labels or that no label can equal. A class outside [0,
/// classes) is an error at run time.
Value build_loss(Loss loss, Builder& builder, Value logits, Value label, const LossOptions& options = {});

/// Returns the loss per sample, [..], in f32 or, for f64 logits, f64. For binary, mse and mae it is the mean over the
/// classes. Takes logits and labels as `build_loss` does. Throws InvalidArgument for scalar logits and a label of
/// another type or shape.
Value sample_losses(Loss loss, Builder& builder, Value logits, Value label);

/// Returns the class whose samples the output "loss" of a graph leaves out: the c in select(label != c, label, a
/// constant), as `build_loss` makes it for an ignore_index, from the input "label". Returns nothing if there is none or
/// more than one.
std::optional<int64_t> find_ignored_class(const Graph& graph);

}  // namespace partita
