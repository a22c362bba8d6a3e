#pragma once
// Finds out whether a launcher started this process as one of several, and as which rank.

#include <functional>
#include <optional>
#include <string>

namespace partita {

/// How ranks find one another without MPI.
struct LaunchedMeeting {
  std::string master;        // HOST:PORT at which rank 0 listens
  std::string address = "";  // address at which this rank listens; "": the one from which it reaches rank 0
  int listener = -1;         // rank 0 only: an open socket that listens there; -1: none
  std::string run = "";      // distinguishes runs that use the same secret
};

struct LaunchedRank {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;        // among the ranks on this host
  std::string launcher;                      // "mpirun", "srun", "partita launch", "a rank table", "torchrun"
  std::optional<LaunchedMeeting> meeting{};  // none: the ranks meet by MPI
};

/// Reads the environment variables of launchers; `variable` looks a name up, null if it is not set. Checks in this
/// order:
/// - `partita launch`, or a script: PARTITA_RANK, PARTITA_SIZE, PARTITA_MASTER (HOST:PORT), and optionally
///   PARTITA_LOCAL_RANK, PARTITA_LOCAL_SIZE, PARTITA_ADDRESS, PARTITA_RUN, PARTITA_LISTENER;
/// - Open MPI's mpirun (OMPI_COMM_WORLD_*) and Slurm's srun (SLURM_PROCID, SLURM_STEP_NUM_TASKS, PMIX_RANK if given);
///   ranks meet by MPI, or without it at PARTITA_MASTER if that is given;
/// - a rank table, RANK_TABLE_FILE or MINDSPORE_HCCL_CONFIG_PATH, with RANK_ID or DEVICE_ID, and RANK_SIZE; rank 0
///   listens on port PARTITA_PORT of its server;
/// - torchrun, or scripts for it: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, and LOCAL_RANK, LOCAL_WORLD_SIZE.
/// None if the process was started alone, for one rank of srun, a rank table or torchrun, and in a Slurm batch script,
/// which is no step of several tasks. Throws InvalidArgument for invalid or inconsistent values, for PARTITA_RANK or
/// PARTITA_SIZE without the other or PARTITA_MASTER, and for more than kMaxJobRanks ranks; MissingFile and InvalidFile
/// for the file of a rank table, as read_rank_table does. base/rank_variables.h lists the variables that set the rank.
std::optional<LaunchedRank> launched_rank(const std::function<const char*(const char*)>& variable);

}  // namespace partita
