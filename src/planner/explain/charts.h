#pragma once
// Drawings of a step as SVG, in classes of the page's style sheet.

#include <string>
#include <vector>

#include "planner/pricing/simulate_step.h"

namespace partita {

/// A row for each group of ranks: what it computes, and below it what is sent beside that.
std::string timeline_chart(const LayerStep& step, bool stages_share_ranks);
/// Bytes of groups of ranks over the same time; `device`: what a device has.
std::string memory_chart(const LayerStep& step, double device);

}  // namespace partita
