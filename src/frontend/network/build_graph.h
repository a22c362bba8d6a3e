#pragma once
// Builds the graph of a network.

#include "frontend/network/network.h"

namespace partita {

/// Purpose of a graph. training: dropout, statistics of the batch, and a loss. evaluation: also a loss. prediction:
/// only the outputs of the network.
enum class Purpose { training, evaluation, prediction };
template <>
inline constexpr auto kNames<Purpose> = names("training", "evaluation", "prediction");

struct BuildOptions {
  int64_t batch = 32;           // rows of the global batch
  std::vector<Column> columns;  // columns of the rows that the network reads
  DType dtype = DType::f32;     // element type of parameters and activations
  Purpose purpose = Purpose::training;
  int64_t statistics_groups = 1;  // groups of rows with separate statistics
  uint64_t seed = 1;
};

/// Returns the forward graph. It has an input [batch, ..row] per column that the network reads. Its outputs are the
/// scalars of the loss, except for a prediction, "loss" first, then the outputs of the network, "logits" for a network
/// of layers. Throws InvalidArgument for a dtype that is no float, a batch below 1, a loss that is missing or no scalar
/// float, two losses of one name, and what layers and functions refuse; errors within layers name the layer and its
/// source line. Throws what else the network's functions throw.
Graph build_graph(const Network& network, const OpSet& ops, const BuildOptions& options);

}  // namespace partita
