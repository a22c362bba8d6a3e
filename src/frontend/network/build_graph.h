#pragma once
// Builds the graph of a network.

#include "frontend/network/network.h"

namespace partita {

/// Purpose of a graph. training: dropout, statistics of the batch, and a loss. evaluation: also a loss. prediction:
/// only the outputs of the network. generation: the outputs for texts that grow, where no token changes what an earlier
/// one gives: experts have room for every token.
enum class Purpose { training, evaluation, prediction, generation };
constexpr auto value_names(Purpose) { return names("training", "evaluation", "prediction", "generation"); }

struct BuildOptions {
  int64_t batch = 32;           // rows of the global batch
  std::vector<Column> columns;  // columns of the rows that the network reads
  DType dtype = DType::f32;     // element type of parameters and activations
  Purpose purpose = Purpose::training;
  int64_t statistics_groups = 1;  // groups of rows with separate statistics
  uint64_t seed = 1;
  /// For a generation: rows of the caches of keys and values, states that the graph reads and writes. A column
  /// kPositionColumn has the position of each token in its text. 0: no caches, rows are whole texts.
  int64_t cache = 0;
};

/// Name of a column i32[s] with the positions of tokens.
inline constexpr std::string_view kPositionColumn = "position";

/// Returns the forward graph. It has an input [batch, ..row] per column that the network reads. Its outputs are, except
/// for a prediction or a generation, the scalars of the network's loss function in its order, then the losses that
/// layers added; then the outputs of the network, "logits" for a network of layers. Throws InvalidArgument for a dtype
/// that is no float, a batch below 1, a loss that is missing or no scalar float, an added loss with the name of
/// another, and what layers and functions refuse; errors within layers name the layer and its source line. Throws what
/// else the network's functions throw.
Graph build_graph(const Network& network, const OpSet& ops, const BuildOptions& options);

}  // namespace partita
