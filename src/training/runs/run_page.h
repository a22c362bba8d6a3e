#pragma once
// A recorded training as a self-contained HTML page, and as a few lines of text.

#include "training/runs/run_record.h"

namespace partita {

/// Formats a well-formed HTML page without external references; all texts are escaped. What the run does not have, such
/// as a validation, is left out. Its size does not grow with the number of steps.
std::string run_page(const RunRecord& run);

/// Returns the main numbers of a run and the remarks on it, one per line.
std::string print_run(const RunRecord& run);

}  // namespace partita
