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

/// Of a whole attempt.
struct Ending {
  int code = 0;
  std::string text = "";   // "rank 2 on b was killed by signal 9 (Killed), last operation: ..."
  int rank = -1;           // that failed; none: a host did
  int signal = 0;          // that killed the rank
  std::string host = "";   // its
  std::string lines = "";  // its last lines
  bool lost_host = false;  // the host cannot be reached
  bool may_pass = false;   // another attempt may go well: a rank was lost, not wrong
  int64_t steps = 0;       // that were reached
};

/// The exit code of a job that a signal asked to end: 128 and its number where the signal itself ended ranks, and that
/// of the ranks otherwise.
int code_when_asked(const Ending& ending, int signal);

/// What is known of the ranks while they run.
class Watch {
 public:
  explicit Watch(const std::vector<HostSlots>& hosts);

  void take(int host, const AgentReport& report);
  /// Its ranks that still ran count as ended.
  void lose_host(int host, const std::string& how, ExitCode code = ExitCode::peer_lost);

  bool has_failed() const { return has_failed_; }
  /// Whether a signal that the agent did not send to stop it has killed a rank.
  bool was_killed() const { return was_killed_; }
  bool all_ended() const;
  bool has_ended(int host) const;
  Ending ending() const;

 private:
  struct Rank {
    int host = 0;
    std::optional<AgentReport> end{};
    int place = 0;  // in the order in which ranks ended
  };
  std::string name(int rank) const;
  /// The rank that failed by itself; none when none did.
  std::optional<int> culprit() const;
  Ending blamed(int rank) const;
  /// On how many other hosts a rank misses one of this host, whose own ranks miss only others: the link to it is cut.
  /// 0: it is not.
  int missed_by_hosts(int host) const;
  /// The host that is cut off; none.
  std::optional<int> cut_off() const;

  std::vector<HostSlots> hosts_;
  std::vector<Rank> ranks_;
  std::vector<std::string> lost_;     // why, by host
  std::vector<ExitCode> lost_codes_;  // by host
  int ended_ = 0;
  bool has_failed_ = false, was_killed_ = false;
};

}  // namespace partita
