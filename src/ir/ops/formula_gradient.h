#pragma once
// Gradients of ops that are a formula of other ops.

#include "ir/graph/builder.h"
#include "ir/graph/op_def.h"

namespace partita {

/// Builds the results of a node from other ops, as OpDef::expand does.
using Formula = std::function<std::vector<Value>(const ExpandCall&)>;

/// Returns the `grad` of an op that computes what `formula` builds: it appends the nodes of the formula and their
/// gradients, in reverse. An operand that is given twice has the sum of its gradients in the first place. It serves
/// gradients that are differentiated again. A call of it throws InvalidArgument if a gradient reaches an op of the
/// formula that has none.
std::function<std::vector<Value>(const GradCall&)> by_formula(Formula formula);

}  // namespace partita
