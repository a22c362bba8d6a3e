#pragma once
// Mixed precision: products of 16-bit operands, with sums, statistics, losses and updates in the type of the parameters
// (Micikevicius et al., 2018).

#include "compiler/autodiff/precision.h"
#include "ir/graph/op_def.h"

namespace partita {

/// Returns `graph`, a forward or training graph of f32 or f64, with roundings to 16 bits and without nodes that nothing
/// needs. If no layer has 16 bits, the graph stays as it is and layers are not checked.
///
/// Every node computes in its own type. `OpTraits::halves` says which operands are rounded first and which results are
/// kept in 16 bits. Kept results are cast back where they are used, so that what lives from the forward pass to the
/// backward pass has 16 bits. A result that one pointwise node or movement alone uses is rounded after that node
/// instead. If the backward pass uses it as well, it gets a rounded copy: the forward pass rounds in an evaluation as
/// it does in a training. Nothing is rounded in layers that keep their precision, in the loss (scope "loss") and in
/// updates. Gradients that an update or the forward pass uses, or that are outputs, such as those of parameters, are
/// not rounded either, nor are results of the backward pass from which only nodes that follow their operands lead to
/// these, nor is the residual stream if the options say so. A value that has 16 bits of one type is rounded again for
/// products of a layer with the other.
///
/// A sum of parts on several ranks thus ends before it is rounded: results do not depend on the plan. In an f64 graph
/// values stay f64, and `round` takes the place of both casts.
///
/// Throws InvalidArgument if two paths of equally many parts give a node different precisions. If the graph has a
/// backward pass, also as `require_precise_layers` does, and for a path that has no effect.
Graph mixed_precision(Graph graph, const OpSet& ops, const PrecisionOptions& options);

/// Checks paths of layers for a forward graph that is not trained. `training` is the forward graph of a training, which
/// has layers that an evaluation lacks, such as dropout. Throws InvalidArgument for a path that names no node outside
/// of the loss, with the nearest scope. Checks nothing if no layer has 16 bits.
void require_precise_layers(const Graph& training, const OpSet& ops, const PrecisionOptions& options);

}  // namespace partita
