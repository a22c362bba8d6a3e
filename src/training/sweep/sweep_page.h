#pragma once
// The results of a sweep as a table and as a self-contained HTML page.

#include "training/sweep/trial_results.h"

namespace partita {

/// Returns a table of the trials from the best to the worst, at most `most` of them, and of failed ones.
std::string print_sweep(const Sweep& sweep, const std::vector<TrialResult>& results, size_t most = 20);

/// Formats a well-formed HTML page without external references: parallel coordinates with a line per trial, the metric
/// over each key, and a table. All texts are escaped.
std::string sweep_page(const Sweep& sweep, const std::vector<TrialResult>& results);

}  // namespace partita
