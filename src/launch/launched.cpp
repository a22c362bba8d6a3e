#include "launch/launched.h"

#include <algorithm>
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

/// Entry SLURM_NODEID of a list like "4(x2),3": four tasks on each of two hosts, three on the last. 1 without one.
int tasks_here(const Variable& variable) {
  const char* text = variable("SLURM_STEP_TASKS_PER_NODE");
  int host = number(variable, "SLURM_NODEID", 0);
  std::string_view rest(text == nullptr ? "" : text);
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    int tasks = 0, hosts = 1;
    std::from_chars(entry.data(), entry.data() + entry.size(), tasks);
    if (const size_t times = entry.find("(x"); times != std::string_view::npos) {
      std::from_chars(entry.data() + times + 2, entry.data() + entry.size(), hosts);
    }
    if (host < hosts) return std::max(1, tasks);
    host -= hosts;
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
  }
  return 1;
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
                  .local_size = tasks_here(variable),
                  .launcher = "srun"});
}

}  // namespace partita
