#include "base/free_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string_view>

namespace partita {
namespace {

constexpr int64_t kAllBytes = std::numeric_limits<int64_t>::max();

/// Returns the number after `key` in a file of "key: number kB" lines, in bytes. Nothing if the file lacks it or cannot
/// be read.
std::optional<int64_t> kilobytes(const char* path, std::string_view key) {
  std::ifstream file(path);
  std::string name;
  int64_t number = 0;
  while (file >> name) {
    if (name == key && file >> number) return number * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

std::optional<int64_t> number_in(const char* path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<int64_t> available_memory() {
  std::optional<int64_t> least = kilobytes("/proc/meminfo", "MemAvailable:");
  const auto lower = [&](int64_t bytes) { least = std::min(least.value_or(kAllBytes), std::max<int64_t>(0, bytes)); };
  const auto most = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  if (most && used) lower(*most - *used);
  rlimit limit{};
  const auto mapped = kilobytes("/proc/self/status", "VmSize:");
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && mapped) {
    lower(static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kAllBytes)) - *mapped);
  }
  return least;
}

std::string print_bytes(int64_t bytes) {
  constexpr std::array<const char*, 7> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", number, kUnits[unit]);
}

}  // namespace partita
