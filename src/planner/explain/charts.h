#pragma once
// SVG charts of a step. They use the classes of the page's style sheet.

#include <string>
#include <vector>

#include "planner/pricing/simulate_step.h"

namespace partita {

/// Timeline of a step as SVG, with one row per group of ranks: its computation, and below it the overlapped
/// communication. Of many groups, at most 32 are shown, evenly spaced. `stages_share_ranks`: labels also name the
/// stage.
std::string timeline_chart(const LayerStep& step, bool stages_share_ranks);
/// Memory of at most 6 groups of ranks over the same time, as SVG and an HTML legend. `device` is the memory of a
/// device in bytes, drawn as a line unless the groups take far less.
std::string memory_chart(const LayerStep& step, double device);

}  // namespace partita
