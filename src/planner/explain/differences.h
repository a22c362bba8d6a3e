#pragma once
// How two plans differ, for people.

#include "planner/plan_file/plan_file.h"

namespace partita {

/// A line for each: what they are for, the configuration key by key, stages, the mesh, and the cuts of nodes, those of
/// repeated layers as ranges. `forward` is the graph of the network that both are for; null: of different ones, whose
/// cuts are not compared.
std::string print_differences(const PlanFile& first, const PlanFile& second, const Graph* forward, const OpSet& ops);

/// Per forward node its cut as a text; "" for none. Nodes and cuts that the graph does not have are left out.
std::vector<std::string> cuts_of_nodes(const NamedCuts& cuts, const Graph& forward, const OpSet& ops);

}  // namespace partita
