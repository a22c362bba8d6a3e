#pragma once
// Text that describes how two plans differ.

#include "planner/plan_file/plan_file.h"

namespace partita {

/// Describes each difference in a line: model, batch, type, cluster and ranks, the configuration key by key, stages,
/// recomputed layers, the mesh, and the cuts of nodes (repeated layers as ranges). "the plans are alike" if there are
/// none. `forward` is the graph of the network of both plans. If it is null, the networks differ and cuts are not
/// compared.
std::string print_differences(const PlanFile& first, const PlanFile& second, const Graph* forward, const OpSet& ops);

/// The cut of each forward node as a text; "" if it is not cut. Cuts of nodes that the graph does not have are ignored.
/// Throws InvalidArgument for axes that the mesh lacks.
std::vector<std::string> cuts_of_nodes(const NamedCuts& cuts, const Graph& forward, const OpSet& ops);

}  // namespace partita
