#include "runtime/launch/launched.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/plain_text.h"
#include "base/rank_limit.h"
#include "runtime/launch/rank_table.h"

namespace partita {
namespace {

using Variable = std::function<const char*(const char*)>;

int number(const Variable& variable, const char* name, int fallback) {
  const char* text = variable(name);
  if (text == nullptr) return fallback;
  if (const std::optional<int> value = parse_number<int>(text); value && *value >= 0) return *value;
  throw InvalidArgument("[launch] {} is not a number, got '{}', expected 0 or more", name, text);
}

LaunchedRank checked(LaunchedRank rank) {
  if (rank.size > kMaxJobRanks) {
    throw InvalidArgument("[launch] too many ranks, got {} from {}, expected at most {}", rank.size, rank.launcher,
                          kMaxJobRanks);
  }
  if (rank.size < 1 || rank.rank >= rank.size) {
    throw InvalidArgument("[launch] the rank does not fit its world, got rank {} of {} from {}, expected 0 to {}",
                          rank.rank, rank.size, rank.launcher, rank.size - 1);
  }
  // Not every launcher gives the number of ranks on a host; local_size is 1 then.
  const bool is_of_host = rank.local_rank < rank.local_size || (rank.local_size == 1 && rank.local_rank < rank.size);
  if (rank.local_size < 1 || rank.local_size > rank.size || !is_of_host) {
    throw InvalidArgument(
        "[launch] the ranks of this host do not fit the world, got rank {} of {} from {}, expected a rank of 1 to {}",
        rank.local_rank, rank.local_size, rank.launcher, rank.size);
  }
  return rank;
}

/// Returns the number of tasks on this host: entry SLURM_NODEID of SLURM_STEP_TASKS_PER_NODE, a list such as "4(x2),3",
/// four tasks on each of two hosts and three on the last. 1 without such an entry. Throws InvalidArgument if
/// SLURM_NODEID is not a number.
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
    host -= std::max(0, hosts);
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
  }
  return 1;
}

std::string text(const Variable& variable, const char* name) {
  const char* value = variable(name);
  return value == nullptr ? "" : value;
}

/// Formats an endpoint: "node1:2900" or "[::1]:2900".
std::string endpoint(const std::string& host, int64_t port) {
  return fmt::format(fmt::runtime(host.find(':') == std::string::npos ? "{}:{}" : "[{}]:{}"), host, port);
}

/// The meeting place of ranks without MPI; none without PARTITA_MASTER. Throws InvalidArgument if PARTITA_LISTENER is
/// not a number.
std::optional<LaunchedMeeting> given_meeting(const Variable& variable) {
  if (variable("PARTITA_MASTER") == nullptr) return std::nullopt;
  return LaunchedMeeting{.master = text(variable, "PARTITA_MASTER"),
                         .address = text(variable, "PARTITA_ADDRESS"),
                         .listener = number(variable, "PARTITA_LISTENER", -1),
                         .run = text(variable, "PARTITA_RUN")};
}

std::optional<LaunchedRank> by_partita(const Variable& variable) {
  if (variable("PARTITA_RANK") == nullptr && variable("PARTITA_SIZE") == nullptr) return std::nullopt;
  for (const char* name : {"PARTITA_RANK", "PARTITA_SIZE", "PARTITA_MASTER"}) {
    if (variable(name) != nullptr) continue;
    throw InvalidArgument(
        "[launch] variables of the launch are missing, got no {}, expected PARTITA_RANK, PARTITA_SIZE and "
        "PARTITA_MASTER",
        name);
  }
  return checked({.rank = number(variable, "PARTITA_RANK", 0),
                  .size = number(variable, "PARTITA_SIZE", 1),
                  .local_rank = number(variable, "PARTITA_LOCAL_RANK", 0),
                  .local_size = number(variable, "PARTITA_LOCAL_SIZE", 1),
                  .launcher = "partita launch",
                  .meeting = given_meeting(variable)});
}

std::optional<LaunchedRank> by_mpirun(const Variable& variable) {
  if (variable("OMPI_COMM_WORLD_SIZE") == nullptr) return std::nullopt;
  return checked({.rank = number(variable, "OMPI_COMM_WORLD_RANK", 0),
                  .size = number(variable, "OMPI_COMM_WORLD_SIZE", 1),
                  .local_rank = number(variable, "OMPI_COMM_WORLD_LOCAL_RANK", 0),
                  .local_size = number(variable, "OMPI_COMM_WORLD_LOCAL_SIZE", 1),
                  .launcher = "mpirun",
                  .meeting = given_meeting(variable)});
}

/// The first host of a list: "rack01" of "rack[01-04,07],other"; "" of an empty list.
std::string first_host(std::string_view list) {
  std::string host;
  for (size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const size_t end = list.find(']', at);
    if (end == std::string_view::npos) break;
    const std::string_view numbers = list.substr(at + 1, end - at - 1);
    host += numbers.substr(0, numbers.find_first_of("-,"));
    at = end;
  }
  return host;
}

/// Remainder of a decimal number of any length by `divisor`; for other texts an arbitrary but fixed number.
int remainder_of(std::string_view tag, int divisor) {
  int remainder = 0;
  for (const unsigned char c : tag) remainder = (remainder * 10 + (c >= '0' && c <= '9' ? c - '0' : c)) % divisor;
  return remainder;
}

/// The meeting place of ranks that srun started without the interface that MPI needs: the host of the first task. None
/// with that interface, or without a list of hosts. Throws InvalidArgument if a variable is not the number that it
/// should be.
std::optional<LaunchedMeeting> meeting_of_step(const Variable& variable) {
  for (const char* name : {"PMIX_RANK", "PMI_RANK", "PMI_FD"}) {
    if (variable(name) != nullptr) return std::nullopt;
  }
  const std::string host = first_host(text(variable, "SLURM_STEP_NODELIST"));
  if (host.empty()) return std::nullopt;
  // Concurrent steps on a host usually get different ports; PARTITA_PORT sets another. Names of jobs and steps are
  // tags: they need not be numbers that an int can hold.
  constexpr int kFirstPort = 20000, kPorts = 10000;
  const std::string job = variable("SLURM_JOB_ID") == nullptr ? "0" : text(variable, "SLURM_JOB_ID");
  const std::string step = variable("SLURM_STEP_ID") == nullptr ? "0" : text(variable, "SLURM_STEP_ID");
  const int port = kFirstPort + (remainder_of(job, kPorts) * 31 + remainder_of(step, kPorts)) % kPorts;
  const bool is_one = number(variable, "SLURM_STEP_NUM_NODES", 0) == 1;
  return LaunchedMeeting{.master = endpoint(is_one ? "127.0.0.1" : host, number(variable, "PARTITA_PORT", port)),
                         .address = is_one ? "127.0.0.1" : "",
                         .run = fmt::format("{}.{}", job, step)};
}

std::optional<LaunchedRank> by_srun(const Variable& variable) {
  const int tasks = number(variable, "SLURM_STEP_NUM_TASKS", 1);
  if (variable("SLURM_PROCID") == nullptr || tasks < 2) return std::nullopt;
  const int rank = number(variable, "SLURM_PROCID", 0);
  const std::optional<LaunchedMeeting> given = given_meeting(variable);
  return checked({.rank = number(variable, "PMIX_RANK", rank),
                  .size = tasks,
                  .local_rank = number(variable, "SLURM_LOCALID", 0),
                  .local_size = tasks_here(variable),
                  .launcher = "srun",
                  .meeting = given ? given : meeting_of_step(variable)});
}

/// Returns the lowest rank with this device in a table of only one server. `path` is named in errors. Throws
/// InvalidArgument if no rank has the device, or the table has several servers.
int rank_of_device(const RankTable& table, const std::string& path, int device) {
  for (int rank = 0; rank < table.size() && table.addresses.size() == 1; ++rank) {
    if (table.ranks[rank].device == device) return rank;
  }
  throw InvalidArgument(
      "[launch] no rank for this process, got DEVICE_ID {} and no RANK_ID, expected RANK_ID, or a device of the only "
      "server of {}",
      device, path);
}

/// Returns `path`, or "../" + `path` if it is relative and only the latter can be read: scripts name a table and then
/// start each rank in a folder of its own.
std::string found_table(const std::string& path) {
  const std::string above = "../" + path;
  const bool is_above = !path.empty() && !path.starts_with("/") && ::access(path.c_str(), R_OK) != 0 &&
                        ::access(above.c_str(), R_OK) == 0;
  return is_above ? above : path;
}

std::optional<LaunchedRank> by_table(const Variable& variable) {
  const bool is_old = variable("RANK_TABLE_FILE") == nullptr;
  const std::string path = found_table(text(variable, is_old ? "MINDSPORE_HCCL_CONFIG_PATH" : "RANK_TABLE_FILE"));
  if (path.empty() || (variable("RANK_ID") == nullptr && variable("DEVICE_ID") == nullptr)) return std::nullopt;
  const RankTable table = read_rank_table(path);
  if (const int size = number(variable, "RANK_SIZE", table.size()); size != table.size()) {
    throw InvalidArgument("[launch] RANK_SIZE and the rank table differ, got {}, expected {} as in {}", size,
                          table.size(), path);
  }
  const int rank = variable("RANK_ID") != nullptr ? number(variable, "RANK_ID", 0)
                                                  : rank_of_device(table, path, number(variable, "DEVICE_ID", 0));
  LaunchedRank launched = checked({.rank = rank, .size = table.size(), .launcher = "a rank table"});
  if (launched.size == 1) return std::nullopt;
  const int server = table.ranks[rank].server;
  const std::vector<int> here = table.on_server(server);
  launched.local_rank = static_cast<int>(std::ranges::find(here, rank) - here.begin());
  launched.local_size = static_cast<int>(here.size());
  launched.meeting = given_meeting(variable);
  if (launched.meeting) return launched;
  // Ranks of one server need no network.
  const bool is_one = table.addresses.size() == 1;
  constexpr int kPort = 29400;
  launched.meeting = {.master = endpoint(is_one ? "127.0.0.1" : table.addresses[table.ranks[0].server],
                                         number(variable, "PARTITA_PORT", kPort)),
                      .address = is_one ? "127.0.0.1" : table.addresses[server],
                      .run = text(variable, "PARTITA_RUN")};
  return launched;
}

std::optional<LaunchedRank> by_torchrun(const Variable& variable) {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    if (variable(name) == nullptr) return std::nullopt;
  }
  LaunchedRank launched = checked({.rank = number(variable, "RANK", 0),
                                   .size = number(variable, "WORLD_SIZE", 1),
                                   .local_rank = number(variable, "LOCAL_RANK", 0),
                                   .local_size = number(variable, "LOCAL_WORLD_SIZE", 1),
                                   .launcher = "torchrun"});
  if (launched.size == 1) return std::nullopt;
  // The agent of torchrun may itself listen on that port.
  const bool is_taken = text(variable, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  launched.meeting = {
      .master =
          endpoint(text(variable, "MASTER_ADDR"), int64_t{number(variable, "MASTER_PORT", 0)} + (is_taken ? 1 : 0)),
      .run = text(variable, "TORCHELASTIC_RUN_ID") + "/" + text(variable, "TORCHELASTIC_RESTART_COUNT")};
  return launched;
}

}  // namespace

std::optional<LaunchedRank> launched_rank(const Variable& variable) {
  for (const auto by : {by_partita, by_mpirun, by_srun, by_table, by_torchrun}) {
    if (auto launched = by(variable)) return launched;
  }
  return std::nullopt;
}

}  // namespace partita
