#include "runtime/device/cpu/team.h"

#include <limits.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/resources.h"

namespace partita {
namespace {

/// Returns the stack size of OpenMP's threads in bytes: OMP_STACKSIZE, else GOMP_STACKSIZE, such as "512" (KiB), "16M"
/// or " 2 g ". 0 if it is not set, smaller than any stack or invalid, which OpenMP reports itself.
size_t stack_bytes() {
  const char* variable = std::getenv("OMP_STACKSIZE");
  if (variable == nullptr) variable = std::getenv("GOMP_STACKSIZE");
  std::string_view text(variable == nullptr ? "" : variable);
  const auto skip_blanks = [&] { text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size())); };
  skip_blanks();
  size_t value = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return 0;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  skip_blanks();
  const size_t unit = text.empty() ? 1 : std::string_view("bkmg").find(static_cast<char>(text[0] | 0x20));
  if (unit == std::string_view::npos || value > (~size_t{0} >> (10 * unit))) return 0;
  value <<= 10 * unit;
  return value < static_cast<size_t>(PTHREAD_STACK_MIN) ? 0 : value;
}

/// Number of threads that libgomp has started for this one, itself included. There is no call that returns it.
thread_local int started = 1;
thread_local bool is_lost = false;  // whether the others of them stayed in the process that was forked

}  // namespace

bool has_lost_team() { return is_lost; }

void require_team(int threads) {
  if (!is_lost || threads <= 1) return;
  throw InvalidArgument(
      "[threads] a forked process has no compute threads, got {}, expected 1: start processes by spawn", threads);
}

int max_team_threads() { return omp_get_thread_limit(); }

void enter_team(int threads) {
  if (threads > max_team_threads()) {
    throw InvalidArgument("[threads] OMP_THREAD_LIMIT is too low, got {}, expected {} or more, or --threads {}",
                          max_team_threads(), threads, max_team_threads());
  }
  require_team(threads);
  omp_set_dynamic(0);            // overrides OMP_DYNAMIC: fewer threads on a busy machine
  omp_set_max_active_levels(1);  // overrides OMP_MAX_ACTIVE_LEVELS=0: only one thread
  omp_set_num_threads(threads);
  if (threads <= started) return;
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] { is_lost = is_lost || started > 1; });
  PARTITA_CHECK(watched == 0, "no handler of forks: {}", watched);
  const Reservation room("compute threads");
  { const WaitingThreads proof(threads - started, "compute threads of a rank", stack_bytes()); }
  int joined = 0;  // only this thread touches it: race detectors do not see the barriers of OpenMP
#pragma omp parallel num_threads(threads)
#pragma omp master
  joined = omp_get_num_threads();
  if (joined != threads) {
    throw RuntimeFailure(ExitCode::out_of_memory,
                         "[threads] OpenMP started fewer compute threads than a rank has, got {}, expected {}", joined,
                         threads);
  }
  started = threads;
}

}  // namespace partita
