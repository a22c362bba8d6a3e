#include "cli/process.h"

#include <cstdlib>

#include "cli/options.h"
#include "cli/waiting.h"

namespace partita {
namespace {

void warn_of_oversubscription(int ranks, int threads, int cores) {
  if (ranks * threads <= cores) return;
  warn(fmt::format("[threads] {} ranks x {} threads share {} cores", ranks, threads, cores));
}

}  // namespace

std::unique_ptr<Console> prepare_process(const JobConfig& config, const Place& place) {
  const int ranks_here = place.ranks() > 1 ? place.ranks_here() : config.ranks.count;
  bound_spinning(config.ranks.threads);
  if (!config.files.flight_record.empty()) ::setenv("PARTITA_FLIGHT_RECORD", config.files.flight_record.c_str(), 1);
  warn_of_oversubscription(ranks_here, config.ranks.threads, place.cores);
  return std::make_unique<Console>(config.console.ranks == ConsoleRanks::all, config.files.log_dir);
}

}  // namespace partita
