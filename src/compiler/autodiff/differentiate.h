#pragma once
// Reverse-mode differentiation of a graph. Gradients are nodes of the same graph.

#include "ir/graph/builder.h"

namespace partita {

/// Appends nodes of phase backward that compute d `loss` / d `with_respect_to` to the builder's graph. Each takes the
/// scope and source line of its forward node and names that node as its `origin`; a sum of gradients has no origin.
/// Returns one gradient per entry of `with_respect_to`, empty where the loss does not depend on it. `factor`, a scalar
/// of the type of the loss, is a factor of each; 1 if it is empty. Throws InvalidArgument if `loss` is not a float with
/// one element, if a gradient reaches an op that has none, or none through that result, if a custom gradient
/// (OwnGradient) returns a number or types of gradients that do not fit its inputs, or if its nodes use a value that
/// needs a gradient but is not an input, or make one that others use but that is not an output. Throws what a custom
/// gradient throws.
std::vector<Value> differentiate(Builder& builder, Value loss, const std::vector<Value>& with_respect_to,
                                 Value factor = {});

}  // namespace partita
