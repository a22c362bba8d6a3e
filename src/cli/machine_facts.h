#pragma once
// What this machine has that trainings use, as it was read.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace partita {

/// Bytes or counts that are not known, or without a limit, are nullopt.
struct MachineFacts {
  // Processor.
  std::string processor;                // its name, or ""
  std::vector<std::string> isa;         // the flags among those that kernels use
  bool is_built_for_x86_64_v3 = false;  // this program contains such instructions
  int cores = 1;                        // of the machine
  int usable_cores = 1;                 // in the affinity mask of this process
  std::optional<double> core_quota;     // of the control group
  std::string omp_num_threads;          // of the environment, or ""
  std::string onednn_version, onednn_isa;
  // Memory.
  std::optional<int64_t> memory, available_memory;
  std::optional<int64_t> memory_limit;                       // of the control group
  std::optional<int64_t> shared_memory, free_shared_memory;  // of /dev/shm; nullopt: there is none
  // Limits of the process.
  std::optional<int64_t> open_files, processes, locked_memory, address_space;
  // Ranks as processes.
  bool has_mpi = false;           // the program was built with it
  bool finds_mpi = false;         // and its library can be loaded
  std::string mpirun, srun, ssh;  // paths, or ""
  bool is_root = false;
  bool may_run_mpi_as_root = false;  // the two variables that Open MPI asks for are set
  std::string launched_by;           // "rank 3 of 8", or "" for a process that was started alone
  std::string launch_error;          // what is wrong with the environment of the launcher, or ""
  // Files and Python.
  bool can_write_temporary_files = true;
  std::string temporary_folder;
  std::string python;  // a path, or ""
  std::vector<std::string> python_packages, missing_python_packages;
};

/// Reads the facts. `root` precedes the paths under /proc and /sys, for tests. Starts one Python if there is one.
MachineFacts read_machine_facts(const std::string& root = "");

}  // namespace partita
