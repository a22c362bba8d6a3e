#pragma once
// Network -> Graph.

#include "frontend/network/network.h"

namespace partita {

/// What a graph is for. training: dropout, statistics of the batch, a loss. evaluation: a loss, too. prediction: the
/// outputs of the network alone.
enum class Purpose { training, evaluation, prediction };
template <>
inline constexpr auto kNames<Purpose> = names("training", "evaluation", "prediction");

struct BuildOptions {
  int64_t batch = 32;           // global
  std::vector<Column> columns;  // of the rows that the network reads
  DType dtype = DType::f32;     // of parameters and activations
  Purpose purpose = Purpose::training;
  int64_t statistics_groups = 1;  // groups of rows with statistics of their own
  uint64_t seed = 1;
};

/// The forward graph: an input [batch, ..row] for each column that the network reads; as outputs the scalars of its
/// loss, "loss" first, then what it makes, "logits" of a network of layers. Errors name the layer and its source line.
Graph build_graph(const Network& network, const OpSet& ops, const BuildOptions& options);

}  // namespace partita
