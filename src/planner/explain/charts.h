#pragma once
// SVG charts of a step. They use the classes of the page's style sheet.

#include <string>
#include <vector>

#include "planner/pricing/simulate_step.h"

namespace partita {

/// Timeline of a step with one row per group of ranks: its computation, and below it the overlapped communication.
std::string timeline_chart(const LayerStep& step, bool stages_share_ranks);
/// Memory of the groups of ranks over the same time. `device` is the memory of a device in bytes.
std::string memory_chart(const LayerStep& step, double device);

}  // namespace partita
