#include "job/process.h"

#include <cstdlib>
#include <filesystem>

#include "runtime/device/xla/plugin_search.h"
#include "runtime/launch/place.h"
#include "runtime/launch/warn.h"

namespace partita {
namespace {

constexpr const char* kFlightRecord = "PARTITA_FLIGHT_RECORD";

}  // namespace

JobProcess::JobProcess(const JobConfig& config, const Place& place) {
  silence_plugin(config.ranks.device);  // before ranks start, so that none of their threads reads the environment
  if (const std::string& folder = config.files.flight_record; !folder.empty()) {
    std::error_code failure;  // ignored: a folder that cannot be made cannot be locked below
    std::filesystem::create_directories(folder, failure);
    const std::string use = fmt::format("rank_{}", place.rank());
    flight_record_.emplace(owned_folder("--flight-record", folder, use), /*waits=*/false, warn_of_rank);
    if (const char* before = std::getenv(kFlightRecord)) records_before_ = before;
    ::setenv(kFlightRecord, folder.c_str(), 1);
  }
  console_.emplace(place.rank(), config.console.ranks == ConsoleRanks::all, config.files.log_dir);
}

JobProcess::~JobProcess() {
  if (!flight_record_) return;
  if (records_before_) {
    ::setenv(kFlightRecord, records_before_->c_str(), 1);
  } else {
    ::unsetenv(kFlightRecord);
  }
}

void warn_of_oversubscription(const JobConfig& config, const Place& place,
                              const std::function<void(const std::string&)>& warn) {
  const int ranks = place.ranks() > 1 ? place.ranks_here() : config.ranks.count, threads = config.ranks.threads;
  const int cores = place.shared_cores();
  if (ranks * threads > cores) {
    warn(fmt::format("[threads] {} ranks x {} threads share {} cores", ranks, threads, cores));
  } else if (threads > place.process_cores()) {
    warn(fmt::format("[threads] {} threads of a rank share the {} cores to which it is bound", threads,
                     place.process_cores()));
  }
}

}  // namespace partita
