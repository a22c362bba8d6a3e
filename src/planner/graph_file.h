#pragma once
// Reading graphs from files.

#include "ir/graph/graph.h"

namespace partita {

/// Whether `model` is the path of a file instead of the name of a model: it contains '/' or ends in ".txt".
bool is_graph_file(const std::string& model);

/// Reads a graph from a text file. Throws MissingFile if the path is no regular file or cannot be read, InvalidFile if
/// it has more than 16 MiB, and InvalidArgument with the line if it is not a graph.
Graph read_graph(const std::string& path);

}  // namespace partita
