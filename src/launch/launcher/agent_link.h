#pragma once
// The launcher's end of the agent on one host.

#include <string>
#include <vector>

#include "launch/launcher/child.h"
#include "launch/launcher/hosts.h"
#include "launch/launcher/lines.h"
#include "launch/launcher/orders.h"

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

 private:
  std::string host_;
  mutable Child child_;
  Lines lines_;
  bool is_open_ = true;
};

}  // namespace partita
