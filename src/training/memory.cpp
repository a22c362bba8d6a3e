#include "training/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

namespace partita {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t saturating_add(int64_t a, int64_t b) { return a > kMost - b ? kMost : a + b; }
int64_t saturating_mul(int64_t a, int64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

/// The number behind `key` in a file of "key: number kB" lines, in bytes.
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

int64_t largest_arena(const Program& program) {
  std::vector<int64_t> bytes(program.pipeline.groups.size(), 0);
  for (size_t stage = 0; stage < program.stages.size(); ++stage) {
    int64_t& of_group = bytes[static_cast<size_t>(program.pipeline.shape.groups[stage])];
    of_group = saturating_add(of_group, program.stages[stage].schedule.arena_bytes);
  }
  return *std::max_element(bytes.begin(), bytes.end());
}

void MemoryEstimate::add_arenas(const MemoryEstimate& other) { arenas = saturating_add(arenas, other.arenas); }

MemoryEstimate estimate_memory(const Program& program, int64_t ranks_here, int64_t copies) {
  MemoryEstimate estimate{.arenas = saturating_mul(largest_arena(program), ranks_here)};
  for (const State& state : program.graph.states) {
    estimate.states = saturating_add(estimate.states, program.graph.type(state.entry).bytes());
  }
  estimate.states = saturating_mul(estimate.states, copies);
  return estimate;
}

std::optional<int64_t> available_memory() {
  std::optional<int64_t> least = kilobytes("/proc/meminfo", "MemAvailable:");
  const auto lower = [&](int64_t bytes) { least = std::min(least.value_or(kMost), std::max<int64_t>(0, bytes)); };
  const auto most = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  if (most && used) lower(*most - *used);
  rlimit limit{};
  const auto mapped = kilobytes("/proc/self/status", "VmSize:");
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && mapped) {
    lower(static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kMost)) - *mapped);
  }
  return least;
}

void require_memory(const MemoryEstimate& estimate, std::optional<int64_t> available) {
  const int64_t needed =
      estimate.arenas == kMost || estimate.states == kMost ? kMost : saturating_add(estimate.arenas, estimate.states);
  if (!available || needed <= *available) return;
  throw RuntimeFailure(
      ExitCode::out_of_memory,
      fmt::format(
          "[memory] the program does not fit, got an estimate of {} ({} for what the ranks here compute, {} for "
          "copies of the states), expected at most the {} that are free: a smaller batch or model, or more "
          "hosts; --force starts it all the same",
          print_bytes(needed), print_bytes(estimate.arenas), print_bytes(estimate.states), print_bytes(*available)));
}

std::string print_bytes(int64_t bytes) {
  constexpr std::array<const char*, 7> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", number, kUnits[unit]);
}

}  // namespace partita
