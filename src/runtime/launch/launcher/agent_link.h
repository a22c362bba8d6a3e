#pragma once
// The launcher's end of the agent on one host.

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

/// Whether a host is this one, by its name.
bool is_this_host(const std::string& name);

class AgentLink {
 public:
  /// Starts the agent: here, or by `ssh` on another host.
  AgentLink(const std::string& host, const std::string& program, const std::string& ssh);

  const std::string& host() const { return host_; }
  /// Readable when there are reports.
  int file() const { return child_.output().file(); }
  bool is_open() const { return is_open_; }
  void close();
  void send(const AgentOrder& order);
  /// What has come; closes the link when the agent has ended.
  std::vector<AgentReport> receive();
  /// How long the agent has been silent.
  Heartbeat& heartbeat() { return heartbeat_; }

 private:
  /// False: the agent reads nothing for so long.
  bool write(const std::string& line, std::chrono::milliseconds patience);
  /// Gives signs of life, also while this process waits for whoever reads its output.
  void beat(const std::stop_token& end);

  std::string host_;
  mutable Child child_;
  Lines lines_;
  Heartbeat heartbeat_{std::chrono::steady_clock::now()};
  std::atomic<bool> is_open_ = true;
  std::mutex writing_;
  std::jthread beats_;  // last: it uses the others
};

}  // namespace partita
