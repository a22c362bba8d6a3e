#include "compiler/search/plan_costs.h"

namespace partita {

PlanCosts PlanCosts::bytes(const Mesh& mesh, double value_share, double gradient_share) {
  const auto links = [&](double share) {
    LinkCosts costs = LinkCosts::bytes(mesh);
    for (double& byte : costs.byte) byte *= share;
    return costs;
  };
  PlanCosts costs{.links = links(value_share),
                  .flop_seconds = 1e-3,
                  .byte_seconds = 0.1 * value_share,
                  .state_share = 1 / value_share};
  if (gradient_share != value_share) costs.gradient_links = links(gradient_share);
  return costs;
}

}  // namespace partita
