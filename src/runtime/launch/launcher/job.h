#pragma once
// Starts a job on several ranks, watches it, and restarts it.

#include <string>
#include <vector>

#include "runtime/launch/launcher/hosts.h"

namespace partita {

struct JobOptions {
  std::vector<HostSlots> hosts;      // ranks are numbered from the first host to the last
  std::vector<std::string> command;  // command of every rank
  std::string program;               // path of this program, which runs as the agent on every host
  std::string log_dir = "";          // "": a temporary folder, which is kept if the job fails
  int max_restarts = 0;
  int min_ranks = 0;          // if fewer than all: the job may continue without ranks that fail again; 0: all
  double stall_timeout = 30;  // in seconds
  std::string ssh = "";       // replaces ssh: a command that takes a host and a command for its shell
  std::vector<std::string> forwarded{};  // names of environment variables to pass to ranks on other hosts
};

/// Returns the command that continues a job that has ended. With --checkpoint in it, it ends with `--resume latest` in
/// place of any other --resume; else it is `command` itself.
std::vector<std::string> restart_command(const std::vector<std::string>& command);

/// Runs the job to its end. The output of rank 0 goes to stdout and stderr, errors to stderr. Returns 0, or the exit
/// code of the rank that failed first: 76 if it was killed, 77 if it does not answer. For a lost host it is 76, 77 if
/// it is silent or cut off, or the code of an error of its agent. After a signal, returns code_when_asked, but 128 +
/// signal after a second one and while no rank runs. Throws RuntimeFailure if the agents cannot be started, the folder
/// of logs cannot be written or another job has it, or the system has no random bytes; MissingFile if the current
/// folder cannot be found; InvalidFile for a malformed report.
int run_job(const JobOptions& options);

}  // namespace partita
