#pragma once
// SVG charts of a step. They use the classes of the page's style sheet.

#include <string>

#include "planner/pricing/step/simulate_step.h"

namespace partita {

/// Returns the timeline of a step as SVG, with one row per group of ranks: its computation, and below it the overlapped
/// communication. Of many groups, at most 32 are shown, evenly spaced; fewer, but at least 4, if they have many spans.
/// `stages_share_ranks`: labels also name the stage.
std::string timeline_chart(const LayerStep& step, bool stages_share_ranks);
/// Returns the memory of at most 6 groups of ranks, evenly spaced, over the time of the step, as SVG and an HTML
/// legend. `device` is the memory of a device in bytes. It is drawn as a line unless it is 0, or 2.5 times what the
/// groups take or more.
std::string memory_chart(const LayerStep& step, double device);

}  // namespace partita
