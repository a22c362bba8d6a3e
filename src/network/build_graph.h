#pragma once
// Network -> Graph.

#include "network/network.h"

namespace partita {

struct BuildOptions {
  int64_t batch = 32;      // global
  Shape image{1, 28, 28};  // channels, height, width of one sample
  DType dtype = DType::f32;
  bool training = true;         // dropout, statistics of the batch
  std::string loss = "sparse";  // a name from loss_names()
  int64_t norm_groups = 1;      // batch norm: groups of rows with statistics of their own
  uint64_t seed = 1;
};

/// The forward graph: inputs "image" (dtype [batch, ..image]) and "label" (i32[batch]), outputs "loss"
/// (a scalar) and "logits". Errors name the layer and its source line.
Graph build_graph(const Network& network, const OpSet& ops, const BuildOptions& options);

}  // namespace partita
