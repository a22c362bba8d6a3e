#include "base/open_file_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

namespace partita {
namespace {

/// The limit of the process, of which there is one, while it is raised (docs/decisions/002).
struct Raised {
  std::mutex mutex;
  int objects = 0;
  std::atomic<rlim_t> before = 0;  // soft limit before it was raised; 0: it is not
};

Raised& raised() {
  static constinit Raised one;
  return one;
}

void set_soft_limit(rlim_t soft) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min(soft, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int64_t open_file_limit() {
  constexpr auto kMax = static_cast<rlim_t>(std::numeric_limits<int64_t>::max());
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<int64_t>(std::min(limit.rlim_cur, kMax)) : 0;
}

int64_t unraised_open_file_limit() {
  Raised& all = raised();
  const std::lock_guard lock(all.mutex);
  const rlim_t before = all.before;
  return before != 0 ? static_cast<int64_t>(before) : open_file_limit();
}

RaisedOpenFileLimit::RaisedOpenFileLimit() {
  Raised& all = raised();
  const std::lock_guard lock(all.mutex);
  rlimit limit{};
  if (all.objects++ > 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  all.before = limit.rlim_cur;
  set_soft_limit(limit.rlim_max);
}

RaisedOpenFileLimit::~RaisedOpenFileLimit() {
  Raised& all = raised();
  const std::lock_guard lock(all.mutex);
  if (--all.objects > 0) return;
  restore_open_file_limit();
  all.before = 0;
}

void restore_open_file_limit() noexcept {
  if (const rlim_t before = raised().before; before != 0) set_soft_limit(before);
}

}  // namespace partita
