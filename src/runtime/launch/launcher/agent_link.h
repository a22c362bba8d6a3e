#pragma once
// The launcher's connection to the agent on one host.

#include <atomic>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "runtime/launch/launcher/child.h"
#include "runtime/launch/launcher/heartbeat.h"
#include "runtime/launch/launcher/hosts.h"
#include "runtime/launch/launcher/lines.h"
#include "runtime/launch/launcher/orders.h"

namespace partita {

/// Whether a name or address is that of this host: it can listen there. False for an unknown name.
bool is_this_host(const std::string& name);

class AgentLink {
 public:
  /// Starts the agent, `program launch-agent`: directly if `host` is this host and has no user and `ssh` is "", else on
  /// `host` by the command `ssh` ("": that of the system). Throws RuntimeFailure(out_of_memory) if there is no pipe,
  /// process or thread for it. A command that cannot be run closes the link later (`receive`).
  AgentLink(const std::string& host, const std::string& program, const std::string& ssh);

  const std::string& host() const { return host_; }
  /// File descriptor that is readable when there are reports.
  int file() const { return child_.output().file(); }
  bool is_open() const { return is_open_; }
  /// Closes the link and kills the local process of the agent. `is_open` is false then.
  void close();
  /// Sends an order. Closes the link if the agent has ended or does not read the order within five seconds. Does
  /// nothing if the link is closed.
  void send(const AgentOrder& order);
  /// Returns the reports received since the last call, in order. Ignores lines that do not begin with "{". Closes the
  /// link if the agent has ended or sends a line longer than 1 MiB. Throws InvalidFile for a malformed report.
  std::vector<AgentReport> receive();
  /// Measures how long the agent has been silent.
  Heartbeat& heartbeat() { return heartbeat_; }

 private:
  /// Writes `line`, which ends with a line break. Returns false if the agent reads nothing for `patience` or has ended.
  bool write(const std::string& line, std::chrono::milliseconds patience);
  /// Sends signs of life until `end` is requested, also while this process waits for the reader of its output. Runs on
  /// its own thread.
  void beat(const std::stop_token& end);

  std::string host_;
  mutable Child child_;
  Lines lines_;
  Heartbeat heartbeat_{std::chrono::steady_clock::now()};
  std::atomic<bool> is_open_ = true;
  std::mutex writing_;
  std::jthread beats_;  // last: it uses the other members
};

}  // namespace partita
