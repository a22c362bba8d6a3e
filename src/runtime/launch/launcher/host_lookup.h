#pragma once
// Finds out why the agent on a host could not be started.

#include <chrono>
#include <optional>
#include <string>

#include "runtime/launch/launcher/child.h"

namespace partita {

/// Returns why ssh cannot find a host, such as "Name or service not known"; "" if the name has an address or is that of
/// this host, is not looked up on this host because ssh goes through another one, or nothing is known now. Waits for
/// `ssh -G` and for name servers. Throws RuntimeFailure(out_of_memory) if there is no pipe or process for ssh.
std::string why_no_host(const std::string& host);

/// A process that asks `why_no_host`, so that the one that starts it need not wait.
class HostLookup {
 public:
  static constexpr std::chrono::milliseconds kMaxTime{2000};

  /// Starts `program launch-lookup host`. Throws RuntimeFailure(out_of_memory) if there is no pipe or process for it.
  HostLookup(const std::string& program, const std::string& host);

  /// File descriptor that is readable when the process has ended.
  int file() const { return child_.ended().file(); }
  /// Returns what the process has found out, or "" once it has run for kMaxTime or has failed; nullopt before. Returns
  /// an answer only once.
  std::optional<std::string> answer();

 private:
  Child child_;
  Deadline until_;
};

}  // namespace partita
