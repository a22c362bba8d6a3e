#include "compiler/search/plan_costs.h"

namespace partita {

PlanCosts PlanCosts::bytes(const Mesh& mesh) {
  return {.links = LinkCosts::bytes(mesh), .flop_seconds = 1e-3, .byte_seconds = 0.1};
}

}  // namespace partita
