#include "planning/cluster_costs.h"

#include "cluster/compute_seconds.h"
#include "cluster/link_costs.h"

namespace partita {

PlanCosts cluster_costs(const Mesh& mesh, const Cluster& cluster, const Precision& precision, double gradient_part) {
  constexpr double kLarge = 1e12;  // of operations or bytes
  const DeviceSpec device = cluster.rank_device();
  const double in_graph = precision.compute == DType::f64 ? 8 : 4;  // bytes of a float
  const double narrower = precision.activation / in_graph;
  const LinkCosts links = link_costs(mesh, 0, cluster);
  PlanCosts costs{
      .links = links,
      .gradient_links = LinkCosts{std::vector<double>(links.step.size(), 0), links.byte},
      .flop_seconds =
          seconds_of({.kind = WorkKind::product, .dtype = precision.compute, .flops = kLarge}, device) / kLarge,
      .byte_seconds = narrower * seconds_of({.kind = WorkKind::pointwise, .bytes = kLarge}, device) / kLarge,
      .node_seconds = device.launch_overhead};
  for (double& byte : costs.links.byte) byte *= narrower;
  for (double& byte : costs.gradient_links->byte) byte *= gradient_part * precision.gradient / in_graph;
  return costs;
}

}  // namespace partita
