#include "runtime/launch/launcher/ending.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>

#include "base/failure_code.h"

namespace partita {
namespace {

bool is_one_of(int code, std::initializer_list<ExitCode> codes) {
  return std::ranges::any_of(codes, [&](ExitCode one) { return static_cast<int>(one) == code; });
}

/// Whether a rank ended because of another one: with the exit code for a lost or stalled peer.
bool is_secondary(const AgentReport& end) {
  return end.signal == 0 && is_one_of(end.code, {ExitCode::peer_lost, ExitCode::peer_stalled});
}

/// Whether a rank ended by itself after a signal had asked it to: with exit code 75, or 128 + SIGINT, SIGTERM or
/// SIGHUP. This is no failure: the launcher must not stop the other ranks for it, since they were asked as well and may
/// take longer to end.
bool was_asked(const AgentReport& end) {
  constexpr int kPreempted = 75;
  return end.signal == 0 && (end.code == kPreempted || end.code == kSignalExit + SIGINT ||
                             end.code == kSignalExit + SIGTERM || end.code == kSignalExit + SIGHUP);
}

bool failed_by_itself(const AgentReport& end) {
  return !end.was_stopped && (end.signal != 0 || (end.code != 0 && !is_secondary(end)));
}

}  // namespace

int code_when_asked(const Ending& ending, int signal) {
  return ending.signal == signal ? kSignalExit + signal : ending.code;
}

Watch::Watch(const std::vector<HostSlots>& hosts) : hosts_(hosts), lost_(hosts.size()), lost_codes_(hosts.size()) {
  for (size_t i = 0; i < hosts.size(); ++i) {
    for (int k = 0; k < hosts[i].slots; ++k) ranks_.push_back({.host = static_cast<int>(i)});
  }
}

void Watch::take(int host, const AgentReport& report) {
  if (report.kind == AgentReport::Kind::failed) return lose_host(host, "says: " + report.text, failure_of(report.code));
  if (report.rank < 0 || report.rank >= static_cast<int>(ranks_.size())) return;
  Rank& rank = ranks_[report.rank];
  if (rank.end) return;
  rank.end = report;
  rank.place = ended_++;
  was_killed_ = was_killed_ || (report.signal != 0 && !report.was_stopped);
  has_failed_ = has_failed_ || ((report.code != 0 || report.signal != 0) && !was_asked(report));
}

void Watch::lose_host(int host, const std::string& how, ExitCode code) {
  if (lost_[host].empty() && !has_ended(host)) {
    lost_[host] = how;
    lost_codes_[host] = code;
    has_failed_ = true;
  }
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].host != host || ranks_[r].end) continue;
    ranks_[r].end = AgentReport{.kind = AgentReport::Kind::ended, .rank = static_cast<int>(r), .was_stopped = true};
    ranks_[r].place = ended_++;
  }
}

bool Watch::all_ended() const { return ended_ == static_cast<int>(ranks_.size()); }

bool Watch::has_ended(int host) const {
  return std::ranges::all_of(ranks_, [&](const Rank& rank) { return rank.host != host || rank.end.has_value(); });
}

std::string Watch::name(int rank) const { return fmt::format("rank {} on {}", rank, hosts_[ranks_[rank].host].name); }

std::optional<int> Watch::culprit() const {
  const auto first_of = [&](auto&& is_wanted) -> std::optional<int> {
    std::optional<int> first;
    for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
      if (!ranks_[r].end || !is_wanted(*ranks_[r].end)) continue;
      if (!first || ranks_[r].place < ranks_[*first].place) first = r;
    }
    return first;
  };
  if (const auto killed = first_of([](const AgentReport& end) { return end.signal != 0 && !end.was_stopped; }))
    return killed;
  // The first rank that lost another one. The lost rank may have failed itself, or not answer at all.
  const auto witness = first_of([&](const AgentReport& end) {
    return is_secondary(end) && end.lost >= 0 && end.lost < static_cast<int>(ranks_.size());
  });
  if (const auto first = first_of(failed_by_itself)) return first;
  if (witness) {
    const int lost = ranks_[*witness].end->lost;
    const AgentReport& end = *ranks_[lost].end;
    const bool lost_device = end.code == static_cast<int>(ExitCode::peer_lost) && end.lost < 0 && end.signal == 0;
    if (!is_secondary(end) || lost_device) return lost;
    // The lost rank lost another one itself: blame one that was stopped instead.
    if (const auto stopped = first_of([](const AgentReport& end) { return end.was_stopped; })) return stopped;
    return lost;
  }
  return first_of([](const AgentReport& end) { return end.code != 0; });
}

Ending Watch::blamed(int rank) const {
  const AgentReport& end = *ranks_[rank].end;
  Ending ending{.code = end.code, .rank = rank, .host = hosts_[ranks_[rank].host].name, .lines = end.lines};
  std::string what;
  if (end.was_stopped) {
    ending.code = static_cast<int>(ExitCode::peer_stalled);
    what = fmt::format("{} did not answer any more and was stopped", name(rank));
  } else if (end.signal != 0) {
    ending.code = static_cast<int>(ExitCode::peer_lost);
    ending.signal = end.signal;
    what = fmt::format("{} was killed by signal {} ({})", name(rank), end.signal, ::strsignal(end.signal));
  } else {
    what = fmt::format("{} ended with exit code {}", name(rank), end.code);
  }
  if (ending.code == 0) {  // it ended normally, but while others still needed it
    const auto witness = std::ranges::find_if(
        ranks_, [&](const Rank& one) { return one.end && is_secondary(*one.end) && one.end->lost == rank; });
    ending.code = witness == ranks_.end() ? static_cast<int>(ExitCode::peer_lost) : witness->end->code;
    what += " while others waited for it";
  }
  if (ending.code == static_cast<int>(ExitCode::usage)) ending.refusal = end.refusal;
  ending.text = what;
  if (!end.last.empty()) ending.text += ", last operation: " + end.last;
  ending.may_pass = end.was_stopped || end.signal != 0 ||
                    is_one_of(ending.code, {ExitCode::peer_lost, ExitCode::peer_stalled, ExitCode::out_of_memory,
                                            ExitCode::internal});
  return ending;
}

int Watch::missed_by_hosts(int host) const {
  bool is_witness = false;
  std::set<int> others;
  for (const Rank& rank : ranks_) {
    if (!rank.end) return 0;
    const int lost = is_secondary(*rank.end) ? rank.end->lost : -1;
    const bool misses = lost >= 0 && lost < static_cast<int>(ranks_.size());
    const bool misses_this = misses && ranks_[lost].host == host;
    if (rank.host != host) {
      if (misses_this) others.insert(rank.host);
      continue;
    }
    if (misses_this || (!is_secondary(*rank.end) && !rank.end->was_stopped)) return 0;
    is_witness = is_witness || misses;
  }
  return is_witness ? static_cast<int>(others.size()) : 0;
}

std::optional<int> Watch::cut_off() const {
  std::optional<int> most;
  int count = 1;
  // Of two hosts that lost each other, the first one continues.
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    const int by = missed_by_hosts(host);
    if (by < count) continue;
    most = host;
    count = by;
  }
  return most;
}

Ending Watch::ending() const {
  Ending ending;
  const auto lost = std::ranges::find_if(lost_, [](const std::string& how) { return !how.empty(); });
  const auto first = culprit();
  if (lost != lost_.end() && (!first || !failed_by_itself(*ranks_[*first].end))) {
    const std::string& host = hosts_[lost - lost_.begin()].name;
    const auto code = static_cast<int>(lost_codes_[lost - lost_.begin()]);
    // What an agent cannot do, such as writing its logs, it cannot do the next time either.
    const bool is_lost = is_one_of(code, {ExitCode::peer_lost, ExitCode::peer_stalled});
    ending = {.code = code,
              .text = fmt::format("host {} {}", host, *lost),
              .host = host,
              .lost_host = is_lost,
              .may_pass = is_lost};
  } else if (const auto host = cut_off(); host && !(first && failed_by_itself(*ranks_[*first].end))) {
    ending = {.code = static_cast<int>(ExitCode::peer_stalled),
              .text = fmt::format("host {} is cut off: its ranks and those of other hosts cannot reach each other, got "
                                  "no answer over the network, expected one",
                                  hosts_[*host].name),
              .host = hosts_[*host].name,
              .lost_host = true,
              .may_pass = true};
  } else if (first) {
    ending = blamed(*first);
  }
  for (const Rank& rank : ranks_) {
    if (rank.end) ending.steps = std::max(ending.steps, rank.end->step);
  }
  return ending;
}

}  // namespace partita
