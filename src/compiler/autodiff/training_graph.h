#pragma once
// Forward, loss, backward and optimizer update as one graph.

#include "compiler/autodiff/mixed_precision.h"
#include "compiler/autodiff/optimizer.h"
#include "compiler/autodiff/recompute.h"

namespace partita {

struct TrainingOptions {
  OptimizerOptions optimizer;
  BuildUpdate own_update = nullptr;  // replaces the update of `optimizer`
  /// Names of the parameters that the optimizer updates; empty: all that require a gradient.
  std::vector<std::string> parameters;
  /// Factor of every gradient. 1 averages over the global batch. The number of ranks gives the sum of the ranks' means,
  /// for which equal results on any number of ranks are not guaranteed.
  double gradient_factor = 1;
  /// Whether to add an output "d_NAME" for each updated parameter.
  bool output_gradients = false;
  /// Whether to leave out all outputs but scalars.
  bool scalar_outputs = false;
  /// Nodes that the backward pass recomputes, in addition to those marked in the graph.
  Recompute recompute = Recompute::none;
  PrecisionOptions precision = {};
  /// Whether an input kLossScale is a factor of the loss that is differentiated. Gradients are divided by it before
  /// they are clipped and used.
  bool scales_loss = false;
  /// Whether to add the output kFinite.
  bool checks_gradients = false;
};

/// Input of a training graph whose loss is scaled: the factor, a scalar of the type of the loss.
inline constexpr std::string_view kLossScale = "loss_scale";
/// Output of a training graph that checks its gradients, a scalar: 1 if all gradients are finite, as they are before
/// they are divided by the scale and clipped, else 0. It is made before the update, by nodes of the backward pass in
/// the scope of this name and without an origin.
inline constexpr std::string_view kFinite = "finite";

struct TrainingGraph {
  Graph graph;
  std::vector<std::string> warnings;
};

/// Returns the training graph of `given`, a forward graph with a scalar output "loss". Adds the input "learning_rate",
/// a scalar of the parameters' type, and what `options` asks for, with the averages of OptimizerOptions::ema after the
/// updates of their parameters (ir/optimizers/averages.h). Increments the counter "step" if there is one and removes
/// nodes that nothing needs. A parameter that the loss does not depend on gets a gradient of zeros and a warning; f16,
/// whose losses are not scaled, gives one too, as do 16 bits without a product. Throws InvalidArgument if there is no
/// output "loss" or it is not one float, if the name "learning_rate", one of `options` or that of an optimizer state or
/// an average is taken, if no parameter is left to train, if `options.parameters` names an unknown or frozen one, if
/// parameters have different element types, if an op between them and the loss has no gradient (`differentiate`) or a
/// custom gradient does not fit, if `options.recompute` finds nothing to recompute, or if `options.precision` names an
/// unknown layer. Throws what `options.own_update` and custom gradients throw.
TrainingGraph make_training_graph(const Graph& given, const OpSet& ops, const TrainingOptions& options);

/// Returns a training graph with the roundings of `precision` and then with what the backward pass recomputes, so that
/// a recomputed node takes the roundings of its original. Throws InvalidArgument for a layer in `precision` that has no
/// node, if the precision has 16 bits.
Graph finish_training_graph(Graph training, const OpSet& ops, const PrecisionOptions& precision);

/// Returns the graph with only its scalar outputs, without the nodes that only others needed. A step in micro-batches
/// would have to keep all rows of outputs such as logits.
Graph with_scalar_outputs(Graph training);

}  // namespace partita
