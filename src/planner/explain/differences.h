#pragma once
// Text that describes how two plans differ.

#include "planner/plan_file/plan_file.h"

namespace partita {

/// Describes each difference in a line: model, batch, type, cluster and ranks, the configuration key by key, parallel
/// mode, stages, recomputed layers, the mesh, and the cuts of nodes (up to 40 lines, repeated layers as ranges). "the
/// plans are the same" if there are none. `forward` is the graph of the network of both plans. If it is null, the
/// networks differ: cuts are not compared, which is said in a line. Cuts are also not compared if a plan has none.
/// Throws as `cuts_of_nodes` does.
std::string print_differences(const PlanFile& first, const PlanFile& second, const Graph* forward, const OpSet& ops);

/// Returns the cut of each forward node as a text, "A={data} j={tensor}"; "" if it is not cut. A node that no line
/// names is cut as `cuts.others` says. Cuts that the graph does not have or allow are ignored. Throws InvalidArgument
/// for axes that the mesh lacks, for malformed lines, and for what two lines cut.
std::vector<std::string> cuts_of_nodes(const NamedCuts& cuts, const Graph& forward, const OpSet& ops);

}  // namespace partita
