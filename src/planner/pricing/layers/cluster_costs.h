#pragma once
// The cost model of a search for cuts on a cluster.

#include "compiler/search/plan_costs.h"
#include "planner/cluster/cluster.h"
#include "planner/pricing/layers/configuration.h"
#include "planner/pricing/layers/unit_costs.h"

namespace partita {

/// Costs in seconds on a mesh whose ranks begin at rank 0 of the cluster. A search does not know the sizes of kernels,
/// so operations and bytes are priced at the rates that large kernels reach. `gradient_part` is the share of the time
/// of parameters' gradient sums that no other work hides. Throws InvalidArgument if the cluster has too few ranks.
PlanCosts cluster_costs(const Mesh& mesh, const Cluster& cluster, const Precision& precision, double gradient_part);

/// Costs for a class of links, 1 to kMaxLinks, which do not depend on the bandwidths of the cluster. `groups` is the
/// number of rank groups, each of which computes its own rows. Throws as `cluster_costs` does.
PlanCosts costs_of_link_class(int64_t links, const Mesh& mesh, const Cluster& cluster, const Precision& precision,
                              double groups);
/// Returns the six consecutive classes of links to search for a mesh, ascending: those near its own links, and slower
/// ones, so that faster links do not change which classes are searched. Throws as `cluster_costs` does.
std::vector<int64_t> link_classes(const Mesh& mesh, const Cluster& cluster, const Precision& precision);

}  // namespace partita
