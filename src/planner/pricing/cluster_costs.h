#pragma once
// What a search for cuts counts on a cluster.

#include "compiler/search/plan_costs.h"
#include "planner/cluster/cluster.h"
#include "planner/pricing/configuration.h"
#include "planner/pricing/unit_costs.h"

namespace partita {

/// Seconds on a mesh of ranks that begin at the first of the cluster. A search knows no sizes of kernels: operations
/// and bytes are taken at the rates that large ones reach. `gradient_part`: of the time that sums of parameters'
/// gradients take, what other work does not hide.
PlanCosts cluster_costs(const Mesh& mesh, const Cluster& cluster, const Precision& precision, double gradient_part);

/// The same for a class of links, 1 to kMaxLinks, whatever the bandwidths of the cluster are; `groups` of ranks compute
/// rows of their own.
PlanCosts costs_of_link_class(int64_t links, const Mesh& mesh, const Cluster& cluster, const Precision& precision,
                              double groups);
/// The classes of links that are near those of a mesh: their own, and slower ones, which are still there when links get
/// faster.
std::vector<int64_t> link_classes(const Mesh& mesh, const Cluster& cluster, const Precision& precision);

}  // namespace partita
