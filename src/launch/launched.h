#pragma once
// Whether a launcher started this process as one of several, and as which.

#include <functional>
#include <optional>
#include <string>

namespace partita {

struct LaunchedRank {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among those on this host
  std::string launcher;                // "mpirun" or "srun"
};

/// Reads what Open MPI's mpirun (OMPI_COMM_WORLD_*) and Slurm's srun (SLURM_PROCID, SLURM_STEP_NUM_TASKS, with
/// PMIX_RANK or not) put into the environment; `variable` looks a name up. None when the process was started alone, and
/// in a Slurm batch script, which is no step of several tasks. Throws InvalidArgument for numbers that make no sense.
std::optional<LaunchedRank> launched_rank(const std::function<const char*(const char*)>& variable);

}  // namespace partita
