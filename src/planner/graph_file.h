#pragma once
// Graphs in files.

#include "ir/graph/graph.h"

namespace partita {

/// Whether the name of a model is that of a file: "graph.txt", "folder/graph".
bool is_graph_file(const std::string& model);

/// Throws MissingFile for one that cannot be read, InvalidFile for one that is too large, InvalidArgument with the line
/// for one that is no graph.
Graph read_graph(const std::string& path);

}  // namespace partita
