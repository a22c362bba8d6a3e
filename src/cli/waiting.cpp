#include "cli/waiting.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"

namespace partita {
namespace {

/// Spins of a waiting thread, 20 to 60 microseconds by the processor: longer than most of what one thread does between
/// two loops of a step, far shorter than a time slice of the system. `python/partita/_waiting.py` has the same.
constexpr const char* kMaxSpins = "2000";

}  // namespace

void bound_spinning(int threads) {
  if (threads <= 1 || std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  // The arguments as the kernel has them, so that no command has to pass them on.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  std::vector<char*> arguments;
  for (size_t begin = 0; begin < words.size(); begin = words.find('\0', begin) + 1) {
    arguments.push_back(words.data() + begin);
  }
  arguments.push_back(nullptr);
  if (arguments.size() < 2 || ::setenv("GOMP_SPINCOUNT", kMaxSpins, 1) != 0) return;
  ::execv("/proc/self/exe", arguments.data());
  throw RuntimeFailure(ExitCode::internal, fmt::format("[threads] cannot start the program anew, error {}", errno));
}

}  // namespace partita
