#include "cli/machine_facts.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/free_memory.h"
#include "runtime/comm/mpi/mpi.h"
#include "runtime/device/cpu/onednn/isa.h"
#include "runtime/launch/place.h"

namespace partita {
namespace {

constexpr const char* kUsedFlags[] = {"avx2", "fma", "bmi2", "f16c", "avx512f", "avx512_bf16", "amx_bf16"};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Returns the number at the beginning of a file. Returns nullopt for a missing file and for other text, such as "max".
std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

void read_processor(MachineFacts& facts, const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      if (!facts.isa.empty()) break;  // all cores are alike
      continue;
    }
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (line.starts_with("model name")) facts.processor = value;
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    const std::string flags = " " + value + " ";
    for (const char* flag : kUsedFlags) {
      if (flags.find(fmt::format(" {} ", flag)) != std::string::npos) facts.isa.push_back(flag);
    }
  }
#ifdef __AVX2__
  facts.is_built_for_x86_64_v3 = true;
#endif
  facts.cores = facts.usable_cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  facts.cores = std::max(facts.cores, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t mask;
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) facts.usable_cores = CPU_COUNT(&mask);
  if (const char* threads = std::getenv("OMP_NUM_THREADS")) facts.omp_num_threads = threads;
  const OneDnnFacts onednn = onednn_facts();
  facts.onednn_version = onednn.version;
  facts.onednn_isa = onednn.isa;
}

/// Sets `core_quota` and `memory_limit` from the control group under `root`, each from version 2 or else version 1. A
/// limit stays nullopt if it is missing or cannot be read, or if the group is not limited.
void read_control_group(MachineFacts& facts, const std::string& root) {
  const std::string group = root + "/sys/fs/cgroup/";
  std::istringstream second(first_line(group + "cpu.max"));
  double quota = 0, period = 0;
  if (second >> quota >> period && period > 0) {
    facts.core_quota = quota / period;
  } else {
    const auto microseconds = number_in(group + "cpu/cpu.cfs_quota_us"),
               each = number_in(group + "cpu/cpu.cfs_period_us");
    if (microseconds && each && *microseconds > 0 && *each > 0) {
      facts.core_quota = static_cast<double>(*microseconds) / static_cast<double>(*each);
    }
  }
  facts.memory_limit = number_in(group + "memory.max");
  if (!facts.memory_limit) facts.memory_limit = number_in(group + "memory/memory.limit_in_bytes");
  // Version 1 writes a number near the largest one for "no limit".
  constexpr int64_t kNoLimit = int64_t{1} << 60;
  if (facts.memory_limit && *facts.memory_limit >= kNoLimit) facts.memory_limit.reset();
}

void read_memory(MachineFacts& facts, const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    long long kilobytes = 0;
    if (std::sscanf(line.c_str(), "MemTotal: %lld kB", &kilobytes) == 1) facts.memory = kilobytes * 1024;
  }
  facts.available_memory = available_memory();
  struct statvfs shared {};
  if (::statvfs("/dev/shm", &shared) == 0) {
    const auto block = static_cast<int64_t>(shared.f_frsize);
    facts.shared_memory = static_cast<int64_t>(shared.f_blocks) * block;
    facts.free_shared_memory = static_cast<int64_t>(shared.f_bavail) * block;
  }
}

std::optional<int64_t> limit_of(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return static_cast<int64_t>(limit.rlim_cur);
}

/// Returns the path of the first executable called `name` in PATH, or "".
std::string found_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

void read_launch(MachineFacts& facts) {
  facts.has_mpi = has_mpi();
  facts.finds_mpi = finds_mpi();
  facts.mpirun = found_in_path("mpirun");
  facts.srun = found_in_path("srun");
  facts.ssh = found_in_path("ssh");
  facts.is_root = ::geteuid() == 0;
  facts.may_run_mpi_as_root =
      std::getenv("OMPI_ALLOW_RUN_AS_ROOT") != nullptr && std::getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") != nullptr;
  try {
    const Place place = this_place();
    if (place.launched) facts.launched_by = fmt::format("rank {} of {}", place.rank(), place.ranks());
  } catch (const Error& error) {
    facts.launch_error = error.what();
  }
}

void read_python(MachineFacts& facts) {
  facts.python = found_in_path("python3");
  if (facts.python.empty()) return;
  constexpr const char* kAsk =
      "python3 -c 'import importlib.util as u; "
      "print(*[n + (\"\" if u.find_spec(n) else \"!\") for n in (\"numpy\", \"networkx\", \"torch\")])' 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> answer(::popen(kAsk, "r"), ::pclose);
  if (answer == nullptr) return;
  std::array<char, 256> text{};
  if (std::fgets(text.data(), text.size(), answer.get()) == nullptr) return;
  std::istringstream words(text.data());
  for (std::string word; words >> word;) {
    if (word.ends_with('!')) {
      facts.missing_python_packages.push_back(word.substr(0, word.size() - 1));
    } else {
      facts.python_packages.push_back(word);
    }
  }
}

}  // namespace

MachineFacts read_machine_facts(const std::string& root) {
  MachineFacts facts;
  facts.plugins = probe_plugins();  // first, while the process has one thread
  facts.has_nvidia_device = ::access((root + "/proc/driver/nvidia/version").c_str(), F_OK) == 0;
  read_processor(facts, root);
  read_control_group(facts, root);
  read_memory(facts, root);
  facts.open_files = limit_of(RLIMIT_NOFILE);
  facts.processes = limit_of(RLIMIT_NPROC);
  facts.locked_memory = limit_of(RLIMIT_MEMLOCK);
  facts.address_space = limit_of(RLIMIT_AS);
  read_launch(facts);
  std::error_code failure;
  facts.temporary_folder = std::filesystem::temp_directory_path(failure).string();
  facts.can_write_temporary_files = !failure && ::access(facts.temporary_folder.c_str(), W_OK) == 0;
  read_python(facts);
  return facts;
}

}  // namespace partita
