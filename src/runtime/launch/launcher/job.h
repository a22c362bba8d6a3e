#pragma once
// A job on several ranks: started, watched, and started again.

#include <string>
#include <vector>

#include "runtime/launch/launcher/hosts.h"

namespace partita {

struct JobOptions {
  std::vector<HostSlots> hosts;      // ranks count from the first host to the last
  std::vector<std::string> command;  // of every rank
  std::string program;               // this one, which runs as the agent on every host
  std::string log_dir = "";          // "": a temporary folder, which stays when the job fails
  int max_restarts = 0;
  int min_ranks = 0;                     // fewer than all: the job may go on without ranks that fail again; 0: all
  double stall_timeout = 30;             // seconds
  std::string ssh = "";                  // in place of ssh: a command that takes a host and a command for its shell
  std::vector<std::string> forwarded{};  // names of variables of this environment for ranks on other hosts
};

/// The command that goes on where a job has ended: with a checkpoint to go on from, `--resume latest`.
std::vector<std::string> restart_command(const std::vector<std::string>& command);

/// Runs the job to its end; what rank 0 prints goes to stdout and stderr, and errors to stderr. Returns the exit code
/// of the rank that failed first, 76 for one that was killed, 77 for one that does not answer. Throws RuntimeFailure
/// when the agents cannot be started.
int run_job(const JobOptions& options);

}  // namespace partita
