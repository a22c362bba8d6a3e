#include "cli/process.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "cli/options.h"

namespace partita {
namespace {

/// Ranks that wait must not spin while others compute, and the OpenMP library reads its way of waiting when it is
/// loaded: starts the program anew with OMP_WAIT_POLICY=passive, unless the user has set it.
void wait_passively(int ranks, int threads) {
  if (ranks <= 1 || threads <= 1 || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  // The arguments as the kernel has them, so that no command has to pass them on.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  std::vector<char*> arguments;
  for (size_t begin = 0; begin < words.size(); begin = words.find('\0', begin) + 1) {
    arguments.push_back(words.data() + begin);
  }
  arguments.push_back(nullptr);
  if (arguments.size() < 2 || ::setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return;
  ::execv("/proc/self/exe", arguments.data());
  throw RuntimeFailure(ExitCode::internal, fmt::format("[threads] cannot start the program anew, error {}", errno));
}

void warn_of_oversubscription(int ranks, int threads, int cores) {
  if (ranks * threads <= cores) return;
  warn(fmt::format("[threads] {} ranks x {} threads share {} cores", ranks, threads, cores));
}

}  // namespace

std::unique_ptr<Console> prepare_process(const JobConfig& config, const Place& place) {
  const int ranks_here = place.ranks() > 1 ? place.ranks_here() : config.ranks.count;
  wait_passively(ranks_here, config.ranks.threads);
  if (!config.files.flight_record.empty()) ::setenv("PARTITA_FLIGHT_RECORD", config.files.flight_record.c_str(), 1);
  warn_of_oversubscription(ranks_here, config.ranks.threads, place.cores);
  return std::make_unique<Console>(config.console.ranks == ConsoleRanks::all, config.files.log_dir);
}

}  // namespace partita
