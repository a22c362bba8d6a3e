#include "base/usable_cores.h"

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "base/control_groups.h"
#include "base/plain_text.h"
#include "base/rank_variables.h"
#include "base/system_files.h"

namespace partita {
namespace {

using CoreSet = std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)>;

/// Returns a set for `count` cores; null without memory.
CoreSet core_set(size_t count) {
  return {CPU_ALLOC(count), [](cpu_set_t* set) { CPU_FREE(set); }};
}

/// Returns how many cores a process may run on, of the calling thread for process 0; 0 if it is unknown.
int cores_of(pid_t process) {
  constexpr size_t kMaxCores = size_t{1} << 16;
  for (size_t count = CPU_SETSIZE; count <= kMaxCores; count *= 2) {
    const CoreSet set = core_set(count);
    if (set == nullptr) return 0;
    if (::sched_getaffinity(process, CPU_ALLOC_SIZE(count), set.get()) == 0) {
      return CPU_COUNT_S(CPU_ALLOC_SIZE(count), set.get());
    }
    if (errno != EINVAL) return 0;  // else the machine has more cores than the set
  }
  return 0;
}

/// Returns the entries of this process's environment that tell which rank it is: "PARTITA_RANK=3".
std::vector<std::string> rank_entries() {
  std::vector<std::string> entries;
  for (const char* name : kRankVariables) {
    if (const char* value = std::getenv(name)) entries.push_back(std::string(name) + "=" + value);
  }
  return entries;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the parent of a process; 0 if it is unknown. /proc/PID/stat is "PID (NAME) STATE PARENT ..", and the name
/// may have any characters.
pid_t parent_of(pid_t process, const std::string& root) {
  const std::string line = text_of(fmt::format("{}/proc/{}/stat", root, process));
  const size_t end = line.rfind(')');
  if (end == std::string::npos) return 0;
  std::string_view rest = std::string_view(line).substr(end + 1);
  next_word(rest);
  return parse_number<pid_t>(next_word(rest)).value_or(0);
}

/// Whether the environment with which a process began has all entries. False if it cannot be read: it is another
/// user's.
bool begins_with(pid_t process, const std::vector<std::string>& entries, const std::string& root) {
  const std::string end(1, '\0'), all = end + text_of(fmt::format("{}/proc/{}/environ", root, process));
  return std::ranges::all_of(
      entries, [&](const std::string& entry) { return all.find(end + entry + end) != std::string::npos; });
}

/// Returns the process that started this rank, perhaps through scripts; 0 if there is none.
pid_t launcher_process(const std::string& root) {
  const std::vector<std::string> entries = rank_entries();
  if (entries.empty()) return 0;
  constexpr int kMaxAncestors = 64;
  pid_t process = ::getppid();
  for (int i = 0; i < kMaxAncestors && process > 0; ++i) {
    if (!begins_with(process, entries, root)) return process;
    process = parent_of(process, root);
  }
  return 0;
}

/// Returns the quota of one control group in cores; nullopt if it has none.
std::optional<double> quota_of(std::optional<double> microseconds, std::optional<double> period) {
  if (!microseconds || !period || !(*microseconds > 0) || !(*period > 0)) return std::nullopt;
  return *microseconds / *period;
}

void lower(UsableCores& cores, std::optional<double> quota, const std::string& file) {
  if (!quota || (cores.quota && *cores.quota <= *quota)) return;
  cores.quota = quota;
  cores.quota_file = file;
}

void read_quota(UsableCores& cores, const std::string& root) {
  const ControlGroups groups = control_groups("cpu", root);
  for (const std::string& folder : groups.version_2) {
    const std::string file = folder + "/cpu.max", line = first_line(file);
    std::string_view rest = line;
    const std::string_view microseconds = next_word(rest), period = next_word(rest);  // "150000 100000" or "max 100000"
    lower(cores, quota_of(parse_number<double>(microseconds), parse_number<double>(period)), file);
  }
  for (const std::string& folder : groups.version_1) {
    const std::string file = folder + "/cpu.cfs_quota_us";  // -1: unlimited
    lower(cores, quota_of(number_in(file), number_in(folder + "/cpu.cfs_period_us")), file);
  }
}

int within_quota(int cores, const std::optional<double>& quota) {
  constexpr double kRounding = 1e-9;
  const double max_cores = quota ? std::ceil(*quota - kRounding) : cores;
  return std::max(1, max_cores < cores ? static_cast<int>(max_cores) : cores);
}

}  // namespace

int UsableCores::own() const { return within_quota(affinity, quota); }
int UsableCores::shared() const { return within_quota(std::max(affinity, launcher), quota); }

UsableCores usable_cores(const std::string& root) {
  UsableCores cores;
  cores.machine = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  const int mask = omp_get_num_places() > 0 ? omp_get_num_procs() : cores_of(0);
  cores.affinity = mask > 0 ? mask : cores.machine;
  cores.machine = std::max(cores.machine, cores.affinity);
  const pid_t launcher = launcher_process(root);
  cores.launcher = launcher > 0 ? std::max(cores.affinity, cores_of(launcher)) : cores.affinity;
  read_quota(cores, root);
  return cores;
}

void leave_place() {
  std::vector<int> all;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> cores(static_cast<size_t>(std::max(0, omp_get_place_num_procs(place))));
    omp_get_place_proc_ids(place, cores.data());
    all.insert(all.end(), cores.begin(), cores.end());
  }
  if (all.empty()) return;
  const auto count = static_cast<size_t>(*std::ranges::max_element(all)) + 1;
  const CoreSet set = core_set(count);
  if (set == nullptr) return;
  CPU_ZERO_S(CPU_ALLOC_SIZE(count), set.get());
  for (const int core : all) CPU_SET_S(static_cast<size_t>(core), CPU_ALLOC_SIZE(count), set.get());
  ::sched_setaffinity(0, CPU_ALLOC_SIZE(count), set.get());  // ignored: the thread stays where it is
}

}  // namespace partita
