// partita launch: a job on several ranks of this and other hosts, watched, and started again.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/rank_limit.h"
#include "base/usable_cores.h"
#include "cli/command_line.h"
#include "cli/options.h"
#include "runtime/launch/launcher/agent.h"
#include "runtime/launch/launcher/host_lookup.h"
#include "runtime/launch/launcher/job.h"
#include "runtime/launch/warn.h"

namespace partita {
namespace {

struct LaunchFlags {
  std::optional<int64_t> ranks;
  int64_t max_restarts = 0, min_ranks = 0;
  double stall_timeout = 30;
  std::string hosts, hostfile, rank_table, log_dir, ssh;
  std::vector<std::string> forwarded, command;
};

std::vector<HostSlots> hosts_of(const LaunchFlags& flags) {
  const int given =
      (flags.hosts.empty() ? 0 : 1) + (flags.hostfile.empty() ? 0 : 1) + (flags.rank_table.empty() ? 0 : 1);
  if (given > 1) {
    throw InvalidArgument(
        "[launch] hosts are given more than once, got several of --hosts, --hostfile and --rank-table, expected one");
  }
  if (given == 0) {
    if (!flags.ranks) throw InvalidArgument("[launch] no number of ranks, got no -n, expected -n N or hosts");
    check_range("-n", *flags.ranks, 1, kMaxJobRanks);
    return {{"localhost", static_cast<int>(*flags.ranks)}};
  }
  const std::vector<HostSlots> all = !flags.hosts.empty()      ? parse_hosts(flags.hosts)
                                     : !flags.hostfile.empty() ? read_hostfile(flags.hostfile)
                                                               : hosts_of_rank_table(flags.rank_table);
  const int64_t ranks = flags.ranks.value_or(0);  // 0: all slots
  check_range("-n", ranks, 0, kMaxJobRanks);
  return taken_slots(all, static_cast<int>(ranks));
}

/// Returns the words after "--", of which there must be at least one, preceded by `program` if the first is the name of
/// a command of `app`.
std::vector<std::string> command_of(const LaunchFlags& flags, const std::string& program, const CLI::App& app) {
  std::vector<std::string> command = flags.command;
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  const bool is_own = std::ranges::any_of(all, [&](const CLI::App* one) { return one->get_name() == command.at(0); });
  if (is_own) command.insert(command.begin(), program);
  return command;
}

/// Checks a name that -x was given. Warns if there is no such variable.
void check_variable(const std::string& name) {
  const bool is_name = !name.empty() && name.find_first_of("=, \t") == std::string::npos;
  if (!is_name) {
    throw InvalidArgument("[-x] not the name of a variable, got '{}', expected one name, such as -x PATH", name);
  }
  if (std::getenv(name.c_str()) == nullptr) warn(fmt::format("[-x] {} is not set, so no rank gets it", name));
}

void run_launch(const LaunchFlags& flags, const CLI::App& app) {
  constexpr int64_t kMaxRestarts = 1'000'000;
  check_range("--max-restarts", flags.max_restarts, 0, kMaxRestarts);
  if (flags.stall_timeout < 0.5 || flags.stall_timeout > 1e6) {
    throw InvalidArgument("[--stall-timeout] out of range, got {}, expected 0.5 to 1000000 seconds",
                          flags.stall_timeout);
  }
  for (const std::string& name : flags.forwarded) check_variable(name);
  const std::vector<HostSlots> hosts = hosts_of(flags);
  check_range("--min-ranks", flags.min_ranks, 0, slots_of(hosts));
  std::error_code failure;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) {
    throw MissingFile("[launch] cannot find this program, got {} for /proc/self/exe, expected a mounted /proc",
                      failure.message());
  }
  const int code = run_job({.hosts = hosts,
                            .command = command_of(flags, program, app),
                            .program = program,
                            .log_dir = flags.log_dir,
                            .max_restarts = static_cast<int>(flags.max_restarts),
                            .min_ranks = static_cast<int>(flags.min_ranks),
                            .stall_timeout = flags.stall_timeout,
                            .ssh = flags.ssh,
                            .forwarded = flags.forwarded});
  if (code != 0) throw CLI::RuntimeError(code);
}

}  // namespace

void add_launch(CLI::App& app) {
  const auto flags = std::make_shared<LaunchFlags>();
  CLI::App* command =
      app.add_subcommand("launch", "Start a job on several ranks, watch it, and restart it after failures");
  command->add_option("-n,--ranks", flags->ranks, "Number of ranks [default with hosts: all of their slots]");
  command->add_option("--hosts", flags->hosts, "Hosts and their ranks: a:4,b:4")->type_name("LIST");
  command->add_option("--hostfile", flags->hostfile, "A file with a host on each line: 'a slots=4'")->type_name("FILE");
  command->add_option("--rank-table", flags->rank_table, "A rank table, in either of the published formats")
      ->type_name("FILE");
  command
      ->add_option("--log-dir", flags->log_dir,
                   "Folder for the output of each rank: DIR/rank_N/stdout, stderr [default: a temporary folder that "
                   "stays if the job fails]")
      ->type_name("DIR");
  command->add_option("--max-restarts", flags->max_restarts, "Maximum number of restarts of the job [default: 0]");
  command->add_option("--min-ranks", flags->min_ranks,
                      "Minimum number of ranks to continue with, without lost hosts and ranks that failed twice");
  command->add_option("--stall-timeout", flags->stall_timeout,
                      "Seconds of silence after which a rank counts as lost [default: 30]");
  command
      ->add_option("--ssh", flags->ssh,
                   "Command to use instead of ssh; it gets a host and a command for the shell there")
      ->type_name("COMMAND");
  command->add_option("-x,--export", flags->forwarded, "Environment variable to pass to ranks on other hosts")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)  // "--" and what follows are no names
      ->type_name("NAME");
  command->add_option("COMMAND", flags->command, "After --: a partita command or a program, with its arguments")
      ->required()
      ->expected(1, -1);
  command->footer("Example: partita launch -n 4 --max-restarts 3 -- train lenet --data mnist:data/mnist");
  command->callback([flags, &app] {
    leave_place();  // ranks begin with the mask of their launcher
    run_launch(*flags, app);
  });

  CLI::App* agent = app.add_subcommand("launch-agent", "");
  agent->group("");
  agent->callback([] {
    leave_place();
    if (const int code = run_agent(); code != 0) throw CLI::RuntimeError(code);
  });

  const auto host = std::make_shared<std::string>();
  CLI::App* lookup = app.add_subcommand("launch-lookup", "");
  lookup->group("");
  lookup->add_option("HOST", *host)->required();
  lookup->callback([host] { std::cout << why_no_host(*host) << std::endl; });
}

}  // namespace partita
