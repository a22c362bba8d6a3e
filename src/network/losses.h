#pragma once
// Losses: the mean over the global batch of one number per sample.

#include "network/layer.h"

namespace partita {

/// Labels are classes (integers), or a number for each logit: one-hot or soft labels, targets. sparse:
/// fused softmax cross entropy with classes alone; dense: the same with one-hot or soft labels;
/// expanded: the same from elementary ops, safe at log(0); mse, mae: of the logits against the labels.
std::vector<std::string> loss_names();

/// logits[.., classes], label i32[..] or of the type of the logits -> a scalar. Throws InvalidArgument
/// for an unknown name and for a label that does not fit.
Value build_loss(const std::string& name, Builder& builder, Value logits, Value label);

}  // namespace partita
