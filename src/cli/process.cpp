#include "cli/process.h"

#include <cstdlib>
#include <filesystem>

#include "cli/options.h"

namespace partita {
namespace {

void warn_of_oversubscription(int ranks, int threads, int cores) {
  if (ranks * threads <= cores) return;
  warn(fmt::format("[threads] {} ranks x {} threads share {} cores", ranks, threads, cores));
}

}  // namespace

PreparedProcess prepare_process(const JobConfig& config, const Place& place) {
  const int ranks_here = place.ranks() > 1 ? place.ranks_here() : config.ranks.count;
  PreparedProcess process;
  if (const std::string& folder = config.files.flight_record; !folder.empty()) {
    std::error_code failure;  // what cannot be made cannot be written either
    std::filesystem::create_directories(folder, failure);
    const std::string use = fmt::format("rank_{}", place.rank());
    process.flight_record.emplace(owned_folder("--flight-record", folder, use), /*waits=*/false, warn_of_rank);
    ::setenv("PARTITA_FLIGHT_RECORD", folder.c_str(), 1);
  }
  warn_of_oversubscription(ranks_here, config.ranks.threads, place.cores);
  process.console = std::make_unique<Console>(config.console.ranks == ConsoleRanks::all, config.files.log_dir);
  return process;
}

}  // namespace partita
