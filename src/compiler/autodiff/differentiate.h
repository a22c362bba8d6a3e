#pragma once
// Reverse-mode differentiation on the graph: gradients are nodes.

#include "ir/graph/builder.h"

namespace partita {

/// Appends the nodes of d loss / d `with_respect_to` to the builder's graph, phase backward, each with
/// the scope, source line and name (`origin`) of its forward node. One value per entry, empty where
/// the loss does not depend on it. `loss` has one element. Throws InvalidArgument when a gradient
/// reaches an op that has none.
std::vector<Value> differentiate(Builder& builder, Value loss, const std::vector<Value>& with_respect_to);

}  // namespace partita
