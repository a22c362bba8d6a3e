#include "planner/pricing/layers/cluster_costs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/cluster/compute_seconds.h"
#include "planner/cluster/link_costs.h"

namespace partita {
namespace {

constexpr double kFaster = 4;             // ratio of the seconds of a byte between pairs of classes
constexpr double kShares[] = {0.1, 1};    // exposed share of gradient sums, by class of a pair
constexpr double kUnboundedLinks = 1e18;  // bytes per second, so that only latencies remain
constexpr int64_t kNearClasses = 6;       // number of classes to search

/// The ratio of the seconds of a byte over links of this class to those of a byte of memory.
double ratio_of(int64_t links) { return std::pow(kFaster, static_cast<double>((links + 1) / 2)); }

}  // namespace

PlanCosts cluster_costs(const Mesh& mesh, const Cluster& cluster, const Precision& precision, double gradient_part) {
  constexpr double kLarge = 1e12;  // operations or bytes
  const DeviceSpec device = cluster.rank_device();
  const double in_graph = precision.compute == DType::f64 ? 8 : 4;  // bytes of a float in the graph
  const double narrower = precision.activation / in_graph,
               moved = precision.folded / in_graph;  // products count by flops
  const LinkCosts links = link_costs(mesh, 0, cluster);
  PlanCosts costs{
      .links = links,
      .gradient_links = LinkCosts{std::vector<double>(links.step.size(), 0), links.byte},
      .flop_seconds =
          seconds_of({.kind = WorkKind::product, .dtype = precision.compute, .flops = kLarge}, device) / kLarge,
      .byte_seconds = moved * seconds_of({.kind = WorkKind::pointwise, .bytes = kLarge}, device) / kLarge,
      .node_seconds = device.launch_overhead};
  for (double& byte : costs.links.byte) byte *= narrower;
  for (double& byte : costs.gradient_links->byte) byte *= gradient_part * precision.sent_gradient / in_graph;
  return costs;
}

PlanCosts costs_of_link_class(int64_t links, const Mesh& mesh, const Cluster& cluster, const Precision& precision,
                              double groups) {
  Cluster unbounded = cluster;
  // A search may choose among equal cuts by the last digit of the costs, which must not depend on bandwidths.
  for (LinkLevel& level : unbounded.levels) {
    for (double* bandwidth : {&level.bandwidth, &level.total_bandwidth, &level.reduce_bandwidth}) {
      if (*bandwidth > 0) *bandwidth = kUnboundedLinks;
    }
  }
  PlanCosts costs = cluster_costs(mesh, unbounded, precision, 1);
  const double share = kShares[(links + 1) % 2], wider = precision.sent_gradient / precision.activation;
  for (double& byte : costs.links.byte) byte = ratio_of(links) * costs.byte_seconds;
  for (double& byte : costs.gradient_links->byte) byte = ratio_of(links) * costs.byte_seconds * wider * groups * share;
  return costs;
}

std::vector<int64_t> link_classes(const Mesh& mesh, const Cluster& cluster, const Precision& precision) {
  const PlanCosts costs = cluster_costs(mesh, cluster, precision, 1);
  double slowest = 0;
  for (const double byte : costs.links.byte) slowest = std::max(slowest, byte);
  int64_t first = 1;
  while (first + kNearClasses <= kMaxLinks - 1 && ratio_of(first + 2) * costs.byte_seconds <= slowest) first += 2;
  std::vector<int64_t> classes(kNearClasses);
  std::iota(classes.begin(), classes.end(), first);
  return classes;
}

}  // namespace partita
