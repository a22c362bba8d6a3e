#pragma once
// Messages between a launcher and the agents on its hosts: one line of JSON each. Agents answer on stdout.

#include <map>
#include <string>
#include <vector>

namespace partita {

/// Orders an agent to start ranks.
struct StartOrder {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment{};
  std::string folder;  // working folder
  std::string log_dir;
  std::string host;     // name of the host, for people
  std::string address;  // address at which its ranks listen
  std::string secret, run, master;
  int first_rank = 0, ranks = 1;  // consecutive ranks
  int size = 1;                   // size of the world
  int attempt = 0;                // number of earlier attempts
  double stall_timeout = 30;      // in seconds
};

struct AgentOrder {
  enum class Kind { listen, start, signal, stop, alive };
  Kind kind = Kind::stop;
  StartOrder start{};
  std::string address = "";           // listen only: address at which to listen
  std::vector<std::string> others{};  // listen only: addresses of hosts that have to reach it
  int signal = 0;
};

/// A report of an agent.
struct AgentReport {
  enum class Kind { listening, output, ended, failed, alive };
  Kind kind = Kind::output;
  std::string text = "";  // the address, the output, or the reason of a rank's or the agent's failure
  bool is_error = false;  // whether the output is that of stderr
  // The fields below are those of a rank that has ended.
  int rank = 0;
  int code = 0, signal = 0;  // how it ended: exit code, or the signal that killed it
  bool was_stopped = false;  // whether the agent stopped it
  int lost = -1;             // the rank that it lost, according to itself; -1: none
  int64_t step = 0;
  std::string refusal = "";  // why it refused to start on its number of ranks; "": it did not
  std::string last = "";     // description of its last call
  std::string lines = "";    // last lines of its stderr
};

std::string print(const AgentOrder& order);
std::string print(const AgentReport& report);
/// Parse an order or a report as `print` writes it. Throw InvalidFile for other texts, missing fields and values that
/// are not possible.
AgentOrder parse_order(const std::string& line);
AgentReport parse_report(const std::string& line);

}  // namespace partita
