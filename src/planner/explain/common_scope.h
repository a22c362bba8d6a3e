#pragma once

#include "ir/graph/graph.h"

namespace partita {

/// The path that the scopes of nodes [begin, end) have in common: "net/h/3"; "" for none.
std::string common_scope(const Graph& graph, size_t begin, size_t end);

}  // namespace partita
