#pragma once

#include "ir/graph/graph.h"

namespace partita {

/// The longest common path of the scopes of the nodes [begin, end), such as "net/h/3"; "" if there is none. The range
/// must not be empty.
std::string common_scope(const Graph& graph, size_t begin, size_t end);

}  // namespace partita
