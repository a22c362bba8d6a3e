#pragma once
// What a search for cuts counts on a cluster.

#include "cluster/cluster.h"
#include "plan/search/plan_costs.h"
#include "planning/unit_costs.h"

namespace partita {

/// Seconds on a mesh of ranks that begin at the first of the cluster. A search knows no sizes of kernels: operations
/// and bytes are taken at the rates that large ones reach. `gradient_part`: of the time that sums of parameters'
/// gradients take, what other work does not hide.
PlanCosts cluster_costs(const Mesh& mesh, const Cluster& cluster, const Precision& precision, double gradient_part);

}  // namespace partita
