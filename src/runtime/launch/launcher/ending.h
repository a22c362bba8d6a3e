#pragma once
// How the ranks of an attempt ended, and which of them is to blame.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/launch/launcher/hosts.h"
#include "runtime/launch/launcher/orders.h"

namespace partita {

/// How a whole attempt ended.
struct Ending {
  int code = 0;
  std::string text = "";     // "rank 2 on b was killed by signal 9 (Killed), last operation: ..."
  int rank = -1;             // the rank that failed; -1: none, or a host failed
  int signal = 0;            // signal that killed the rank; 0: none
  std::string host = "";     // host of the rank, or the one that failed
  std::string lines = "";    // last lines of the rank's stderr
  std::string refusal = "";  // why the rank refused to start on the number of ranks; "": it did not
  bool lost_host = false;    // whether the host cannot be reached
  bool may_pass = false;     // whether another attempt may succeed: a rank was lost, not wrong
  int64_t steps = 0;         // highest step that a rank reached
};

/// Returns the exit code of a job that `signal` asked to end: 128 + signal if that signal killed the rank that `ending`
/// blames, else the code of `ending`.
int code_when_asked(const Ending& ending, int signal);

/// Tracks the ranks while they run.
class Watch {
 public:
  explicit Watch(const std::vector<HostSlots>& hosts);

  /// Records a report of the agent of host number `host`: that a rank has ended, or `failed`, which counts as the loss
  /// of the host. Only the first end of a rank counts; reports on unknown ranks are ignored.
  void take(int host, const AgentReport& report);
  /// Records that a host was lost, for the reason `how`. Its ranks that were still running count as stopped. The
  /// attempt ends with `code` if this loss is to blame. Only the first loss of a host counts, and none after all of its
  /// ranks have ended.
  void lose_host(int host, const std::string& how, ExitCode code = ExitCode::peer_lost);

  bool has_failed() const { return has_failed_; }
  /// Whether a signal has killed a rank, other than those with which the agent stops it.
  bool was_killed() const { return was_killed_; }
  bool all_ended() const;
  bool has_ended(int host) const;
  /// Returns the result of the attempt, once all ranks have ended or hosts were lost. It blames a rank that failed by
  /// itself, or else a host that was lost or cut off, or a rank that others lost. Its code is 0 if no rank has failed.
  Ending ending() const;

 private:
  struct Rank {
    int host = 0;
    std::optional<AgentReport> end{};
    int place = 0;  // position in the order in which ranks ended
  };
  std::string name(int rank) const;
  /// The rank that is to blame: the first one that a signal killed, else the first that failed by itself. Else the one
  /// that the first rank to lose another lost, or, if that lost another itself, the first that was stopped, if any.
  /// Else the first with an exit code other than 0. None if no rank failed.
  std::optional<int> culprit() const;
  Ending blamed(int rank) const;
  /// Number of other hosts with a rank that lost one of this host, if this host's network is cut: all ranks have ended,
  /// one of this host has lost a rank of another, and each one of this host was stopped or ended for a lost or stalled
  /// peer, none of them for one of this host. 0 otherwise.
  int missed_by_hosts(int host) const;
  /// The host that the most other hosts have lost (`missed_by_hosts`), the last one of several; none if there is no
  /// such host.
  std::optional<int> cut_off() const;

  std::vector<HostSlots> hosts_;
  std::vector<Rank> ranks_;
  std::vector<std::string> lost_;     // reason by host
  std::vector<ExitCode> lost_codes_;  // by host
  int ended_ = 0;
  bool has_failed_ = false, was_killed_ = false;
};

}  // namespace partita
