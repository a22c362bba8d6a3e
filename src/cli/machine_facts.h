#pragma once
// Facts about this machine that matter for trainings, as they were read.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/xla/probe.h"

namespace partita {

/// Facts of a machine. Bytes and counts are nullopt if they are unknown or unlimited.
struct MachineFacts {
  // Processor.
  std::string processor;                // name of the processor, or ""
  std::vector<std::string> isa;         // flags of the processor that kernels use
  bool is_built_for_x86_64_v3 = false;  // whether this program contains such instructions
  int cores = 1;                        // cores of the machine
  int usable_cores = 1;                 // cores in the affinity mask of this process
  std::optional<double> core_quota;     // limit of the control groups, in cores
  std::string core_quota_file;          // file that states it
  int thread_cores = 1;                 // cores that default threads use: of the mask, at most the quota rounded up
  std::string omp_num_threads;          // value in the environment, or ""
  std::string onednn_version, onednn_isa;
  // Memory.
  std::optional<int64_t> memory, available_memory;
  std::optional<int64_t> memory_limit;                       // limit of the control group
  std::optional<int64_t> shared_memory, free_shared_memory;  // size of /dev/shm and free bytes; nullopt: there is none
  // Limits of the process.
  std::optional<int64_t> open_files, processes, locked_memory, address_space;
  // Ranks as processes.
  bool has_mpi = false;           // whether the program was built with MPI
  bool finds_mpi = false;         // whether the MPI library can be loaded
  std::string mpirun, srun, ssh;  // paths, or ""
  bool is_root = false;
  bool may_run_mpi_as_root = false;  // whether the two variables that Open MPI asks for are set
  std::string launched_by;           // "rank 3 of 8", or "" if no launcher started the process
  std::string launch_error;          // error in the launcher's environment, or ""
  // Files and Python.
  bool can_write_temporary_files = true;
  std::string temporary_folder;
  std::string python;  // path of Python, or ""
  std::vector<std::string> python_packages, missing_python_packages;
  // Accelerators.
  std::vector<PluginReport> plugins;  // a report for each kind of device
  bool has_nvidia_device = false;     // whether the system has NVIDIA's driver
};

/// Reads the facts; one that cannot be read keeps its default, and an error in the launcher's environment becomes
/// `launch_error`. `root` is prepended to paths under /proc and /sys, for tests, except for the available memory.
/// Starts one Python if there is one, and a process for each plugin, since a plugin may crash or hang.
MachineFacts read_machine_facts(const std::string& root = "");

}  // namespace partita
