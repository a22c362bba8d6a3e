#pragma once
// The agent, which runs on each host of a job: starts the ranks there and reports how they end.

namespace partita {

/// Reads orders from stdin until it ends, or the launcher is silent for too long, and writes reports to stdout. An
/// Error in carrying out an order is reported, too. Kills ranks that still run at the end. Returns the exit code: 0, or
/// ExitCode::internal if it cannot wait for orders.
int run_agent();

}  // namespace partita
