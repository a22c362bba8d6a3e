#include "cli/machine_facts.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/error.h"
#include "base/free_memory.h"
#include "base/plain_text.h"
#include "base/system_files.h"
#include "base/usable_cores.h"
#include "runtime/comm/mpi/mpi.h"
#include "runtime/device/cpu/onednn/isa.h"
#include "runtime/launch/place.h"

namespace partita {
namespace {

constexpr const char* kUsedFlags[] = {"avx2", "fma", "bmi2", "f16c", "avx512f", "avx512_bf16", "amx_bf16"};

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
  const UsableCores cores = usable_cores(root);
  facts.cores = cores.machine;
  facts.usable_cores = cores.affinity;
  facts.core_quota = cores.quota;
  facts.core_quota_file = cores.quota_file;
  facts.thread_cores = cores.own();
  if (const char* threads = std::getenv("OMP_NUM_THREADS")) facts.omp_num_threads = threads;
  const OneDnnFacts onednn = onednn_facts();
  facts.onednn_version = onednn.version;
  facts.onednn_isa = onednn.isa;
}

void read_memory(MachineFacts& facts, const std::string& root) {
  const std::optional<int64_t> kibibytes = number_after(root + "/proc/meminfo", "MemTotal:");
  if (kibibytes) facts.memory = *kibibytes * 1024;
  facts.available_memory = available_memory();
  facts.memory_limit = memory_limit(root);
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
  for (const std::string_view folder : split_words(path == nullptr ? "" : path, ":")) {
    const std::string candidate = fmt::format("{}/{}", folder, name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
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
      "print(*[n + (\"\" if u.find_spec(n) else \"!\") for n in (\"numpy\", \"networkx\", \"torch\", \"jinja2\")])' "
      "2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> answer(::popen(kAsk, "r"), ::pclose);
  if (answer == nullptr) return;
  std::array<char, 256> text{};
  if (std::fgets(text.data(), text.size(), answer.get()) == nullptr) return;
  for (const std::string_view word : split_words(text.data())) {
    if (word.ends_with('!')) {
      facts.missing_python_packages.emplace_back(word.substr(0, word.size() - 1));
    } else {
      facts.python_packages.emplace_back(word);
    }
  }
}

}  // namespace

MachineFacts read_machine_facts(const std::string& root) {
  MachineFacts facts;
  facts.plugins = probe_plugins();  // first, while the process has one thread
  facts.has_nvidia_device = ::access((root + "/proc/driver/nvidia/version").c_str(), F_OK) == 0;
  read_processor(facts, root);
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
