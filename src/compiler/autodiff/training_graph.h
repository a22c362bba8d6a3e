#pragma once
// forward + loss + backward + optimizer update as one graph.

#include <functional>

#include "compiler/autodiff/optimizer.h"
#include "compiler/autodiff/recompute.h"

namespace partita {

/// Appends the update of a parameter by its gradient at a learning rate, and stores the results, as build_update does.
using BuildUpdate = std::function<void(Builder&, Value parameter, Value gradient, Value learning_rate)>;

struct TrainingOptions {
  OptimizerOptions optimizer;
  BuildUpdate own_update = nullptr;  // in place of that of the optimizer
  /// The parameters that the optimizer updates; empty = all that require a gradient.
  std::vector<std::string> parameters;
  /// Multiplies every gradient: 1 averages over the global batch; the number of ranks gives the sum of
  /// the ranks' means (outside the promise of equal numbers).
  double gradient_factor = 1;
  /// Adds an output "d_NAME" for each updated parameter.
  bool output_gradients = false;
  /// Nodes that the backward makes again, besides those that the graph says.
  Recompute recompute = Recompute::none;
};

struct TrainingGraph {
  Graph graph;
  std::vector<std::string> warnings;
};

/// `given`, the forward, has a scalar output "loss". Adds the input "learning_rate", a scalar of the parameters'
/// type, and counts the state "step" when there is one. A parameter that the loss does not depend on
/// gets a gradient of zeros and a warning.
TrainingGraph make_training_graph(const Graph& given, const OpSet& ops, const TrainingOptions& options);

/// Without outputs such as logits, of which a step in micro-batches would have to keep all rows.
Graph with_scalar_outputs(Graph training);

}  // namespace partita
