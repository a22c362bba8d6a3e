#pragma once
// The update of one parameter by an optimizer of ir/optimizers.

#include <functional>

#include "compiler/autodiff/optimizer_options.h"
#include "ir/graph/builder.h"

namespace partita {

/// Appends the update of `parameter` by `gradient` to the builder's graph, creates the optimizer states that it needs,
/// and stores the new parameter and states. `learning_rate` is a scalar of the parameter's type. Optimizers that count
/// steps also need the counter "step", which `make_training_graph` increments. Throws InvalidArgument for an unknown
/// optimizer or option, for operands of other types, for a parameter that was stored before, and if the name of one of
/// its states ("w.exp_avg", "step") belongs to another value.
void build_update(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient,
                  Value learning_rate);

/// Appends the nodes that update a parameter by its gradient, and stores the new parameter and the states that it
/// creates. What it throws reaches the caller of `make_training_graph`.
using BuildUpdate = std::function<void(Builder&, Value parameter, Value gradient, Value learning_rate)>;

}  // namespace partita
