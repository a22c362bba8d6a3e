#pragma once
// Reverse-mode differentiation of a graph. Gradients are nodes of the same graph.

#include "ir/graph/builder.h"

namespace partita {

/// Appends nodes of phase backward that compute d `loss` / d `with_respect_to` to the builder's graph. Each takes the
/// scope and source line of its forward node and names that node as its `origin`; a sum of gradients has no origin.
/// Returns one gradient per entry of `with_respect_to`, empty where the loss does not depend on it.
/// Throws InvalidArgument if `loss` is not a float with one element, or if a gradient reaches an op without one. A
/// function with a gradient of its own throws it if it returns gradients of another number or type, or would lose one.
std::vector<Value> differentiate(Builder& builder, Value loss, const std::vector<Value>& with_respect_to);

}  // namespace partita
