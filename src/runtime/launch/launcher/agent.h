#pragma once
// What runs on each host of a job: starts the ranks there, and says how they end.

namespace partita {

/// Reads orders from stdin until it ends, and writes reports to stdout. Ranks that still run then are killed. Returns
/// an exit code.
int run_agent();

}  // namespace partita
