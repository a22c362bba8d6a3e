#include "base/free_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include "base/control_groups.h"
#include "base/plain_text.h"
#include "base/system_files.h"

namespace partita {
namespace {

constexpr int64_t kAllBytes = std::numeric_limits<int64_t>::max();
/// Version 1 of control groups writes a number near the largest one for "no limit".
constexpr int64_t kNoLimit = int64_t{1} << 60;

/// Limit of a control group and what it uses, in bytes. Cached pages of files that the system can drop are left out.
struct GroupMemory {
  int64_t limit = 0;
  std::optional<int64_t> used;
};

std::optional<int64_t> kibibytes_after(const std::string& path, std::string_view key) {
  const std::optional<int64_t> number = number_after(path, key);
  return number ? std::optional(*number * 1024) : std::nullopt;
}

/// Adds the memory of a group whose files have these names, if it is limited.
void add_group(std::vector<GroupMemory>& groups, const std::string& folder, const char* limit, const char* used,
               std::string_view droppable) {
  const std::optional<int64_t> max_bytes = number_in(folder + limit);
  if (!max_bytes || *max_bytes >= kNoLimit) return;
  GroupMemory group{.limit = *max_bytes, .used = number_in(folder + used)};
  if (group.used) *group.used -= number_after(folder + "/memory.stat", droppable).value_or(0);
  groups.push_back(group);
}

std::vector<GroupMemory> limited_groups(const std::string& root) {
  const ControlGroups all = control_groups("memory", root);
  std::vector<GroupMemory> groups;
  for (const std::string& folder : all.version_2) {
    add_group(groups, folder, "/memory.max", "/memory.current", "inactive_file");
  }
  for (const std::string& folder : all.version_1) {
    add_group(groups, folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file");
  }
  return groups;
}

}  // namespace

std::optional<int64_t> available_memory(const std::string& root) {
  std::optional<int64_t> min_bytes = kibibytes_after(root + "/proc/meminfo", "MemAvailable:");
  const auto lower = [&](int64_t bytes) {
    min_bytes = std::min(min_bytes.value_or(kAllBytes), std::max<int64_t>(0, bytes));
  };
  for (const GroupMemory& group : limited_groups(root)) {
    if (group.used) lower(group.limit - *group.used);
  }
  rlimit limit{};
  const auto mapped = kibibytes_after(root + "/proc/self/status", "VmSize:");
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && mapped) {
    lower(static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kAllBytes)) - *mapped);
  }
  return min_bytes;
}

std::optional<int64_t> memory_limit(const std::string& root) {
  std::optional<int64_t> min_bytes;
  for (const GroupMemory& group : limited_groups(root))
    min_bytes = std::min(min_bytes.value_or(kAllBytes), group.limit);
  return min_bytes;
}

std::optional<int64_t> resident_memory() {
  std::string line = first_line("/proc/self/statm");  // "size resident .."; far shorter to print than status
  std::string_view words = line;
  next_word(words);
  const std::optional<int64_t> pages = parse_number<int64_t>(next_word(words));
  return pages ? std::optional(*pages * ::sysconf(_SC_PAGESIZE)) : std::nullopt;
}

std::string print_bytes(int64_t bytes) {
  constexpr std::array<const char*, 7> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", number, kUnits[unit]);
}

}  // namespace partita
