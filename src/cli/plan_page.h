#pragma once
// A plan of the zoo as an HTML page.

#include "cli/planner.h"

namespace partita {

/// `compares`: with the best of each known kind and, where it was found, the runner-up.
std::string plan_page(Planner& planner, const PricedPlan& priced, const PlanFile& plan, bool compares,
                      const std::optional<PricedConfiguration>& runner_up);

}  // namespace partita
