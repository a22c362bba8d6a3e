#include "cli/options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "base/error.h"

namespace partita {

DataSpec parse_data_spec(std::string_view text) {
  const size_t colon = text.find(':');
  DataSpec spec{std::string(text.substr(0, colon)), ""};
  check_choice("--data", spec.kind, {"mnist", "cifar10", "synthetic"});
  if (colon != std::string_view::npos) spec.folder = text.substr(colon + 1);
  if ((spec.kind == "synthetic") != spec.folder.empty()) {
    throw InvalidArgument(
        fmt::format("[--data] wrong form, got '{}', expected mnist:DIR, cifar10:DIR or synthetic", text));
  }
  return spec;
}

void check_choice(std::string_view flag, const std::string& value, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), value) != names.end()) return;
  throw InvalidArgument(fmt::format("[{}] unknown name, got '{}', expected one of {}{}", flag, value,
                                    fmt::join(names, " "), did_you_mean(value, names)));
}

void check_range(std::string_view flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  throw InvalidArgument(fmt::format("[{}] out of range, got {}, expected {} to {}", flag, value, least, most));
}

int threads_per_rank(int asked, int ranks) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return asked > 0 ? asked : std::max(1, cores / ranks);
}

void warn_of_crowd(int ranks, int threads) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (ranks * threads <= cores) return;
  std::cerr << fmt::format("partita: warning: [threads] {} ranks x {} threads share {} cores\n", ranks, threads, cores);
}

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

}  // namespace partita
