#include "cli/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/free_memory.h"
#include "base/plain_text.h"

namespace partita {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kMinMemory = 256 * kMiB;        // LeNet with its rows needs less
constexpr int64_t kMinSharedMemory = 128 * kMiB;  // a container has 64 MiB by default
constexpr int64_t kMinOpenFiles = 256, kMinProcesses = 64;

class Findings {
 public:
  void broken(std::string where, std::string what, std::string remedy) {
    all_.push_back({true, std::move(where), std::move(what), std::move(remedy)});
  }
  void note(std::string where, std::string what, std::string remedy) {
    all_.push_back({false, std::move(where), std::move(what), std::move(remedy)});
  }
  std::vector<Finding> sorted() && {
    std::ranges::stable_sort(all_, [](const Finding& a, const Finding& b) { return a.is_broken && !b.is_broken; });
    return std::move(all_);
  }

 private:
  std::vector<Finding> all_;
};

void check_processor(const MachineFacts& facts, Findings& found) {
  const auto has = [&](const char* flag) { return std::ranges::find(facts.isa, flag) != facts.isa.end(); };
  if (facts.is_built_for_x86_64_v3 && !(has("avx2") && has("fma") && has("bmi2"))) {
    found.broken("processor", "instructions of this build are missing, got no avx2, fma or bmi2, expected x86-64-v3",
                 "build with -DPARTITA_ARCH=x86-64-v2");
  }
  if (facts.usable_cores < facts.cores) {
    found.note("cores", fmt::format("the process may not use all cores, got {} of {}", facts.usable_cores, facts.cores),
               "check taskset, --cpuset-cpus of the container, or --cpus-per-task of the job");
  }
  if (facts.core_quota && *facts.core_quota + 1e-9 < facts.usable_cores) {
    found.note("cores",
               fmt::format("the control group allows less CPU time than the cores have, got {:.2g} of {}",
                           *facts.core_quota, facts.usable_cores),
               fmt::format("raise the limit (--cpus of the container) in {}; until then ranks have {} threads together",
                           facts.core_quota_file, facts.thread_cores));
  }
  if (has("avx512f") && facts.onednn_isa.find("avx512") == std::string::npos) {
    found.note(
        "oneDNN",
        fmt::format("it does not use all instructions of the processor, got {}, expected avx512", facts.onednn_isa),
        "unset ONEDNN_MAX_CPU_ISA and DNNL_MAX_CPU_ISA");
  }
  // A list, such as "4,2", has the threads of each level.
  const std::string_view outer = std::string_view(facts.omp_num_threads).substr(0, facts.omp_num_threads.find(','));
  if (const int threads = parse_number<int>(outer).value_or(0); threads > facts.thread_cores) {
    found.note("OMP_NUM_THREADS",
               fmt::format("more threads than cores, got {}, expected at most {}", threads, facts.thread_cores),
               "unset OMP_NUM_THREADS; --threads sets the threads of a rank");
  }
}

void check_memory(const MachineFacts& facts, Findings& found) {
  if (facts.available_memory && *facts.available_memory < kMinMemory) {
    found.broken("memory",
                 fmt::format("too little, got {}, expected {} or more", print_bytes(*facts.available_memory),
                             print_bytes(kMinMemory)),
                 "close other programs, or raise the limits (ulimit -v, --memory of the container)");
  }
  if (!facts.shared_memory) {
    found.note("shared memory", "not available, got no /dev/shm",
               "mount a tmpfs there; without it processes of one host send messages, which is slower");
  } else if (facts.free_shared_memory.value_or(0) < kMinSharedMemory) {
    found.note("shared memory",
               fmt::format("too little in /dev/shm, got {} free of {}, expected {} or more",
                           print_bytes(facts.free_shared_memory.value_or(0)), print_bytes(*facts.shared_memory),
                           print_bytes(kMinSharedMemory)),
               "start the container with --shm-size=1g; without it processes of one host send messages");
  }
}

void check_limits(const MachineFacts& facts, Findings& found) {
  if (facts.open_files && *facts.open_files < kMinOpenFiles) {
    found.note("open files", fmt::format("a low limit, got {}, expected {} or more", *facts.open_files, kMinOpenFiles),
               "ulimit -n 4096; every pair of ranks on two hosts has a connection");
  }
  if (facts.processes && *facts.processes < kMinProcesses) {
    found.broken("threads",
                 fmt::format("too low a limit, got {}, expected {} or more", *facts.processes, kMinProcesses),
                 "ulimit -u 4096; ranks and their compute threads count");
  }
  if (!facts.can_write_temporary_files) {
    found.note("temporary files", fmt::format("the folder cannot be written, got '{}'", facts.temporary_folder),
               "set TMPDIR to a writable folder; without --log-dir, partita launch keeps its logs there");
  }
}

void check_launch(const MachineFacts& facts, Findings& found) {
  if (!facts.launch_error.empty()) {
    found.broken("launcher", "its environment variables are inconsistent, got " + facts.launch_error,
                 "start partita through the launcher, or unset its variables");
  }
  if (!facts.has_mpi) {
    found.note("MPI", "the program was built without it",
               "install libopenmpi-dev and build again, or use partita launch");
  } else if (facts.mpirun.empty() && facts.srun.empty()) {
    found.note("MPI", "no launcher in PATH, got neither mpirun nor srun", "install openmpi-bin, or use partita launch");
  } else if (!facts.finds_mpi) {
    found.note("MPI", "its library was not found, got no libmpi",
               "install openmpi-bin, or name the library in PARTITA_MPI_LIBRARY");
  } else if (!facts.mpirun.empty() && facts.is_root && !facts.may_run_mpi_as_root) {
    found.note("MPI", "mpirun refuses to run as root",
               "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or use another user");
  }
}

void check_python(const MachineFacts& facts, Findings& found) {
  if (facts.python.empty()) {
    found.note("Python", "not in PATH, got no python3", "install python3 to use the package, and for chat templates");
    return;
  }
  for (const std::string& name : facts.missing_python_packages) {
    const std::string use = name == "numpy"      ? "the package needs it"
                            : name == "networkx" ? "only program.graph.to_networkx() needs it"
                            : name == "jinja2"   ? "only chat templates need it"
                                                 : "only parameters through DLPack and comparisons need it";
    found.note("Python", fmt::format("{} is not installed", name), fmt::format("pip install {}; {}", name, use));
  }
}

/// Plugins that are there and cannot be used, and a GPU without a plugin. Trainings on CPUs need none.
void check_plugins(const MachineFacts& facts, Findings& found) {
  for (const PluginReport& plugin : facts.plugins) {
    const bool is_wanted = !plugin.path.empty() || (plugin.device == "cuda" && facts.has_nvidia_device);
    if (!plugin.missing.empty() && is_wanted) {
      found.note("device " + plugin.device, "it cannot be used: " + plugin.missing, plugin.remedy);
    }
  }
}

}  // namespace

std::vector<Finding> findings_of(const MachineFacts& facts) {
  Findings found;
  check_processor(facts, found);
  check_memory(facts, found);
  check_limits(facts, found);
  check_launch(facts, found);
  check_python(facts, found);
  check_plugins(facts, found);
  return std::move(found).sorted();
}

}  // namespace partita
