#pragma once
// Reductions of gradients in 16 bits.

#include "compiler/partition/local_graph.h"

namespace partita {

/// Lets sums of f32 gradients of parameters over ranks be sent in another type (CollectiveAttrs::wire): those of values
/// of the backward pass whose sum only the update, checks of gradients and outputs use, directly or after nodes that
/// move, convert or add gradients. Sums over micro-batches, sums that another stage or the backward pass goes on with,
/// and gradients of fewer than two dimensions stay: those of biases and scales are few bytes, and parts of them often
/// cancel. Does nothing if `wire` is none.
void round_reductions(LocalGraph& local, const OpSet& ops, std::optional<DType> wire);

}  // namespace partita
