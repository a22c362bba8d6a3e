#pragma once
// Losses: the mean over the global batch of one number per sample.

#include "network/layer.h"

namespace partita {

/// sparse: fused softmax cross entropy with integer labels; dense: the same with one-hot labels;
/// expanded: the same from elementary ops, safe at log(0); mse, mae: of the logits against one-hot labels.
std::vector<std::string> loss_names();

/// logits[n, classes], label i32[n] -> a scalar. Throws InvalidArgument for an unknown name.
Value build_loss(const std::string& name, Builder& builder, Value logits, Value label);

}  // namespace partita
