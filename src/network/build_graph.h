#pragma once
// Network -> Graph.

#include "network/network.h"

namespace partita {

struct BuildOptions {
  int64_t batch = 32;           // global
  std::string input = "image";  // the name of the input: "image", "tokens"
  Shape image{1, 28, 28};       // of one sample: channels, height, width, or any other
  DType dtype = DType::f32;     // of parameters and activations
  bool training = true;         // dropout, statistics of the batch
  std::string loss = "sparse";  // a name from loss_names()
  int64_t norm_groups = 1;      // batch norm: groups of rows with statistics of their own
  uint64_t seed = 1;
  std::optional<DType> image_dtype;  // of the input, when it is not `dtype`: i32 for ids of an embedding
  Type label{DType::i32, {}};        // of one sample: a class (or one for each position), or a number for each logit
};

/// The forward graph: inputs "image", or as `input` says ([batch, ..image]), and "label" ([batch, ..label]), outputs
/// "loss" (a scalar) and "logits". Errors name the layer and its source line.
Graph build_graph(const Network& network, const OpSet& ops, const BuildOptions& options);

}  // namespace partita
