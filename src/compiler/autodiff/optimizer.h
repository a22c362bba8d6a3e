#pragma once
// Optimizers as graph builders: each appends the nodes that update one parameter.

#include <functional>

#include "compiler/autodiff/optimizer_options.h"
#include "ir/graph/builder.h"

namespace partita {

/// Appends the update of `parameter` by `gradient` to the builder's graph, creates the optimizer states that it needs,
/// and stores the new parameter and states. `learning_rate` is a scalar of the parameter's type. Adam also needs the
/// counter "step", which `make_training_graph` increments. Throws InvalidArgument for operands of other types and for a
/// parameter that was stored before.
void build_update(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient,
                  Value learning_rate);

/// Appends the update of a parameter by its gradient and stores the results, as `build_update` does.
using BuildUpdate = std::function<void(Builder&, Value parameter, Value gradient, Value learning_rate)>;

}  // namespace partita
