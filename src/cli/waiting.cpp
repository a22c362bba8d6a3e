#include "cli/waiting.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/usable_cores.h"

namespace partita {
namespace {

/// Spins of a waiting thread. libgomp estimates 100,000 per millisecond, so this is about 20 microseconds, far shorter
/// than a time slice of the system. bench/waiting.py compares values. `python/partita/_waiting.py` uses the same value.
constexpr const char* kMaxSpins = "2000";

constexpr std::string_view kComputing[] = {"train", "eval", "generate"};

}  // namespace

void bound_spinning(char** words) {
  const std::string_view command = words[0] == nullptr || words[1] == nullptr ? "" : words[1];
  if (std::find(std::begin(kComputing), std::end(kComputing), command) == std::end(kComputing)) return;
  if (usable_cores().own() <= 1) return;
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (::setenv("GOMP_SPINCOUNT", kMaxSpins, 1) != 0) return;
  leave_place();  // the program that starts has the mask of this thread
  ::execv("/proc/self/exe", words);
  // If the restart is not possible, which is rare, threads spin for longer.
}

}  // namespace partita
