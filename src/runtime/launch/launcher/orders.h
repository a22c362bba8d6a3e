#pragma once
// What a launcher and the agents on its hosts say to each other: a line of JSON each. Agents answer on stdout.

#include <map>
#include <string>
#include <vector>

namespace partita {

/// To an agent: start these ranks. With rank 0 among them and no master, the agent opens a socket for it, says where,
/// and waits for the order to go on.
struct StartOrder {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment{};
  std::string folder;  // to start in
  std::string log_dir;
  std::string host;     // its name, for people
  std::string address;  // where its ranks listen
  std::string secret, run, master;
  int first_rank = 0, ranks = 1;  // these, one behind the other
  int size = 1;                   // of the world
  int attempt = 0;                // how often the job was started before
  double stall_timeout = 30;      // seconds
};

struct AgentOrder {
  enum class Kind { listen, start, signal, stop, alive };
  Kind kind = Kind::stop;
  StartOrder start{};
  std::string address = "";           // of listen
  std::vector<std::string> others{};  // of listen: addresses of other hosts, which are to reach that one
  int signal = 0;
};

/// From an agent.
struct AgentReport {
  enum class Kind { listening, output, ended, failed, alive };
  Kind kind = Kind::output;
  std::string text = "";  // of the address, the output, the reason of a rank or of the agent
  bool is_error = false;  // the output of stderr
  // Of a rank that has ended:
  int rank = 0;
  int code = 0, signal = 0;  // how it ended; a signal is one that the agent did not send
  bool was_stopped = false;  // by the agent
  int lost = -1;             // the rank that it missed, as it said itself
  int64_t step = 0;
  std::string last = "";   // its last operation
  std::string lines = "";  // its last lines of stderr
};

std::string print(const AgentOrder& order);
std::string print(const AgentReport& report);
/// Throw InvalidFile for what is none.
AgentOrder parse_order(const std::string& line);
AgentReport parse_report(const std::string& line);

}  // namespace partita
