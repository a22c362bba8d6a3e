#include "comm/mpi/launched.h"

#include <charconv>
#include <string_view>

#include "base/error.h"

namespace partita {
namespace {

using Variable = std::function<const char*(const char*)>;

int number(const Variable& variable, const char* name, int fallback) {
  const char* text = variable(name);
  if (text == nullptr) return fallback;
  int value = 0;
  const std::string_view view(text);
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error == std::errc{} && end == view.data() + view.size() && value >= 0) return value;
  throw InvalidArgument(fmt::format("[launch] {} is not a number, got '{}', expected 0 or more", name, text));
}

LaunchedRank checked(LaunchedRank rank) {
  if (rank.size < 1 || rank.rank >= rank.size) {
    throw InvalidArgument(
        fmt::format("[launch] the rank does not fit its world, got rank {} of {} from {}, expected 0 "
                    "to {}",
                    rank.rank, rank.size, rank.launcher, rank.size - 1));
  }
  return rank;
}

}  // namespace

std::optional<LaunchedRank> launched_rank(const Variable& variable) {
  if (variable("OMPI_COMM_WORLD_SIZE") != nullptr) {
    return checked({.rank = number(variable, "OMPI_COMM_WORLD_RANK", 0),
                    .size = number(variable, "OMPI_COMM_WORLD_SIZE", 1),
                    .local_rank = number(variable, "OMPI_COMM_WORLD_LOCAL_RANK", 0),
                    .local_size = number(variable, "OMPI_COMM_WORLD_LOCAL_SIZE", 1),
                    .launcher = "mpirun"});
  }
  const int tasks = number(variable, "SLURM_STEP_NUM_TASKS", 1);
  if (variable("SLURM_PROCID") == nullptr || tasks < 2) return std::nullopt;
  const int rank = number(variable, "SLURM_PROCID", 0);
  return checked({.rank = number(variable, "PMIX_RANK", rank),
                  .size = tasks,
                  .local_rank = number(variable, "SLURM_LOCALID", 0),
                  .local_size = number(variable, "SLURM_NTASKS_PER_NODE", 1),
                  .launcher = "srun"});
}

}  // namespace partita
