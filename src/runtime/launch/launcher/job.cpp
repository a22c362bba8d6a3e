#include "runtime/launch/launcher/job.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/error.h"
#include "runtime/comm/sockets/addresses.h"
#include "runtime/launch/launcher/agent_link.h"
#include "runtime/launch/launcher/current_folder.h"
#include "runtime/launch/launcher/ending.h"
#include "runtime/launch/launcher/host_lookup.h"
#include "runtime/launch/launcher/log_folder.h"
#include "runtime/launch/launcher/signal_file.h"
#include "runtime/launch/refusal.h"
#include "runtime/launch/secret.h"

extern char** environ;

namespace partita {
namespace {

using std::chrono::milliseconds;
using Reports = std::vector<AgentReport>;

constexpr milliseconds kAgentTime{30'000};  // for an agent to answer
constexpr milliseconds kLastWords{1'000};   // for ranks to end by themselves after one has failed
constexpr milliseconds kStopTime{5'000};    // for an agent to stop its ranks
constexpr milliseconds kUrgentTime{500};    // for an agent to stop its ranks after a second signal
constexpr milliseconds kSaveTime{5'000};    // for other ranks to end by themselves after a signal has killed one
constexpr milliseconds kFirstPause{100}, kLongestPause{30'000};
constexpr int kCrashLoop = 3;  // number of attempts without a step

void say(const std::string& kind, const std::string& text) {
  std::cout.flush();
  std::cerr << "partita: " << kind << ": " << text << std::endl;
}

void warn_user(const std::string& text) { say("warning", text); }

/// Returns the variables that ranks get from the launcher's own environment, and the number of ranks at first.
std::map<std::string, std::string> forwarded_environment(const JobOptions& options) {
  std::map<std::string, std::string> forwarded;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry), name = text.substr(0, text.find('='));
    const bool is_named = std::ranges::find(options.forwarded, name) != options.forwarded.end();
    if (is_named || name.starts_with("OMP_") || name.starts_with("PARTITA_")) {
      forwarded[name] = text.substr(std::min(text.size(), name.size() + 1));
    }
  }
  forwarded[kFirstSizeVariable] = fmt::to_string(slots_of(options.hosts));
  return forwarded;
}

class Launcher {
 public:
  explicit Launcher(const JobOptions& options)
      : options_(options), hosts_(options.hosts), secret_(new_secret()), logs_(options.log_dir, warn_user) {}

  int run() {
    std::vector<std::string> command = options_.command;
    for (int attempt = 0, restarts = 0, idle = 0;; ++attempt) {
      const Ending ending = run_attempt(command, attempt);
      lookups_.clear();
      logs_.keep(ending.code != 0);
      if (asked_ != 0) {  // the ranks report themselves why they end
        return is_urgent_ ? kSignalExit + asked_ : code_when_asked(ending, asked_);
      }
      if (ending.code == 0) return 0;
      tell(ending);
      const bool is_number = refuses_number(ending);
      idle = ending.steps > 0 || is_number ? 0 : idle + 1;
      if (!is_number && !may_restart(ending, restarts, idle)) return ending.code;
      const int before = slots_of(hosts_);
      if (shrink(ending, is_number)) {
        idle = 0;  // the remaining ranks have not failed yet
      } else if (is_number) {
        return ending.code;
      }
      if (slots_of(hosts_) < std::max(1, min_ranks())) {
        say("error", fmt::format("[launch] too few ranks are left, got {}, expected {} or more", slots_of(hosts_),
                                 std::max(1, min_ranks())));
        return ending.code;
      }
      command = restart_command(options_.command);
      if (is_number) {  // no rank has failed
        say("warning", fmt::format("[launch] {} ranks were refused, the job starts on {}", before, slots_of(hosts_)));
      } else if (!pause(restarts++, idle)) {
        return kSignalExit + asked_;
      }
    }
  }

 private:
  int min_ranks() const { return options_.min_ranks > 0 ? options_.min_ranks : slots_of(options_.hosts); }

  void tell(const Ending& ending) const {
    const bool has_logs = logs_.has_logs() || hosts_.size() > 1 || !options_.ssh.empty();
    say("error", fmt::format("[launch] {}{}", ending.text,
                             has_logs ? fmt::format("; logs are in {}", logs_.path().string()) : ""));
    if (ending.rank > 0 && !ending.lines.empty()) {
      say("error", fmt::format("[launch] the last lines of rank {}:", ending.rank));
      std::cerr << ending.lines << std::flush;
    }
  }

  /// Whether the program has refused to start on fewer ranks than it was given at first: another number may work. Not
  /// if it refused the number before with the same text, which then has another reason.
  bool refuses_number(const Ending& ending) {
    const bool is_same = ending.refusal == refusal_;
    refusal_ = ending.refusal;
    return has_shrunk_ && ending.steps == 0 && !ending.refusal.empty() && !is_same;
  }

  bool may_restart(const Ending& ending, int restarts, int idle) const {
    if (options_.max_restarts == 0 || !ending.may_pass) return false;
    if (restarts >= options_.max_restarts) {
      say("error", fmt::format("[launch] no restart is left, got {} failures, expected at most {} restarts",
                               restarts + 1, options_.max_restarts));
      return false;
    }
    if (idle < kCrashLoop) return true;
    say("error",
        fmt::format("[launch] a crash loop, got {} attempts that ended before their first step, expected fewer", idle));
    return false;
  }

  /// If fewer ranks are allowed, removes the host that `ending` says cannot be reached, or one slot of the host of the
  /// rank it blames, if that failed twice in a row or `is_number`: the program has refused this number of ranks.
  /// Returns whether something was removed.
  bool shrink(const Ending& ending, bool is_number) {
    const bool again = ending.host == failed_host_ && ending.rank == failed_rank_;
    failed_host_ = ending.host;
    failed_rank_ = ending.rank;
    if (options_.min_ranks == 0) return false;
    const auto host = std::ranges::find_if(hosts_, [&](const HostSlots& one) { return one.name == ending.host; });
    if (host == hosts_.end() || (!ending.lost_host && !again && !is_number)) return false;
    host->slots = ending.lost_host ? 0 : host->slots - 1;
    std::erase_if(hosts_, [](const HostSlots& one) { return one.slots == 0; });
    has_shrunk_ = true;
    failed_rank_ = -1;
    return true;
  }

  /// Announces a restart and waits before it, longer with each of `idle` attempts without a step. Returns false, at
  /// once, if a signal asks the job to end. Throws InvalidFile for a malformed report of an agent.
  bool pause(int restarts, int idle) {
    const milliseconds rest = std::min(kLongestPause, kFirstPause * (1 << std::min(idle, 16)));
    say("warning", fmt::format("[launch] restart {} of {} on {} ranks in {:.1f} s", restarts + 1, options_.max_restarts,
                               slots_of(hosts_), std::chrono::duration<double>(rest).count()));
    for (const Deadline until = deadline_after(rest); asked_ == 0 && std::chrono::steady_clock::now() < until;) {
      step(nullptr, until, nullptr);
    }
    return asked_ == 0;
  }

  void connect_agents() {
    constexpr int kFilesOfAgent = 3, kOwnFiles = 16;
    require_open_files("launch", kFilesOfAgent * static_cast<int64_t>(hosts_.size()) + kOwnFiles,
                       fmt::format("{} hosts", hosts_.size()));
    std::erase_if(agents_, [&](const auto& agent) {
      return !agent->is_open() ||
             std::ranges::none_of(hosts_, [&](const HostSlots& host) { return host.name == agent->host(); });
    });
    std::vector<std::unique_ptr<AgentLink>> ordered;
    for (const HostSlots& host : hosts_) {
      const auto found = std::ranges::find_if(
          agents_, [&](const auto& agent) { return agent != nullptr && agent->host() == host.name; });
      ordered.push_back(found != agents_.end()
                            ? std::move(*found)
                            : std::make_unique<AgentLink>(host.name, options_.program, options_.ssh));
    }
    agents_ = std::move(ordered);
  }

  /// Returns the address at which the ranks of a host listen: the host's name without a user. It is 127.0.0.1 for
  /// "localhost", and for any host that is the only one of the job.
  std::string address_of(const HostSlots& host) const {
    return hosts_.size() == 1 || host.address() == "localhost" ? "127.0.0.1" : host.address();
  }

  /// Returns the addresses of all hosts but the first, which have to reach it; none if all addresses are loopback ones.
  std::vector<std::string> others() const {
    std::vector<std::string> all;
    for (const HostSlots& host : hosts_) all.push_back(host.address());
    if (std::ranges::all_of(all, is_loopback)) return {};
    all.erase(all.begin());
    return all;
  }

  Ending run_attempt(const std::vector<std::string>& command, int attempt) {
    connect_agents();
    Watch watch(hosts_);
    agents_[0]->send({.kind = AgentOrder::Kind::listen, .address = address_of(hosts_[0]), .others = others()});
    std::string master;
    const Deadline answered = deadline_after(kAgentTime);
    while (master.empty() && !watch.has_failed() && std::chrono::steady_clock::now() < answered) {
      step(&watch, answered, &master);
      if (asked_ != 0) return {.code = kSignalExit + asked_};  // no rank was started yet
    }
    if (master.empty()) {
      if (!watch.has_failed()) {
        watch.lose_host(0, "does not answer");
        agents_[0]->close();
      }
      return watch.ending();
    }
    int first = 0;
    for (size_t i = 0; i < agents_.size(); ++i) {
      agents_[i]->send({.kind = AgentOrder::Kind::start,
                        .start = {.command = command,
                                  .environment = forwarded_environment(options_),
                                  .folder = current_folder(),
                                  .log_dir = logs_.path(),
                                  .host = hosts_[i].name,
                                  .address = address_of(hosts_[i]),
                                  .secret = secret_,
                                  .run = fmt::to_string(attempt),
                                  .master = master,
                                  .first_rank = first,
                                  .ranks = hosts_[i].slots,
                                  .size = slots_of(hosts_),
                                  .attempt = attempt,
                                  .stall_timeout = options_.stall_timeout}});
      first += hosts_[i].slots;
    }
    watch_to_the_end(watch);
    return watch.ending();
  }

  void watch_to_the_end(Watch& watch) {
    std::optional<Deadline> stop_at, give_up_at;
    while (!watch.all_ended()) {
      const Deadline now = std::chrono::steady_clock::now();
      // Finding out which host is cut off takes the reports of the ranks on all hosts.
      const bool asks_all = options_.min_ranks > 0 && hosts_.size() > 1 && !watch.was_killed();
      if (watch.has_failed() && !stop_at && asked_ == 0) stop_at = deadline_after(asks_all ? kSaveTime : kLastWords);
      // Signals kill a rank that does not handle them yet; one that handles them may wait for the killed one.
      if (watch.was_killed() && !stop_at) stop_at = deadline_after(kSaveTime);
      if (is_urgent_) stop_at = now;
      if (stop_at && now >= *stop_at && !give_up_at) {
        for (const auto& agent : agents_) agent->send({.kind = AgentOrder::Kind::stop});
        give_up_at = deadline_after(is_urgent_ ? kUrgentTime : kStopTime);
      }
      if (give_up_at && now >= *give_up_at) {
        for (size_t i = 0; i < agents_.size(); ++i) {
          if (watch.has_ended(static_cast<int>(i))) continue;
          agents_[i]->close();
          watch.lose_host(static_cast<int>(i), "does not stop its ranks");
        }
        return;
      }
      step(&watch, give_up_at.value_or(stop_at.value_or(now + std::chrono::hours(1))), nullptr);
    }
  }

  /// Waits for reports or a signal until `until`, at most one heartbeat interval, and handles them. `watch` is null if
  /// no rank runs. `master`, unless null, receives the address at which rank 0 will listen. Throws InvalidFile for a
  /// malformed report.
  void step(Watch* watch, Deadline until, std::string* master) {
    std::vector<pollfd> files{{.fd = signals_.file(), .events = POLLIN}};
    for (const auto& agent : agents_) files.push_back({.fd = agent->is_open() ? agent->file() : -1, .events = POLLIN});
    for (const auto& [host, lookup] : lookups_) files.push_back({.fd = lookup.file(), .events = POLLIN});
    const auto rest = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now()).count();
    ::poll(files.data(), files.size(), static_cast<int>(std::clamp<int64_t>(rest, 0, Heartbeat::kInterval.count())));
    if (files[0].revents != 0) pass_on(signals_.next());
    for (size_t i = 0; i < agents_.size(); ++i) {
      for (const AgentReport& report : files[i + 1].revents == 0 ? Reports() : agents_[i]->receive()) {
        heard_.insert(agents_[i]->host());
        if (report.kind == AgentReport::Kind::output) {
          (report.is_error ? std::cerr : std::cout) << report.text << std::flush;
        } else if (report.kind == AgentReport::Kind::listening) {
          if (master != nullptr) *master = report.text;
        } else if (report.kind != AgentReport::Kind::alive && watch != nullptr) {
          watch->take(static_cast<int>(i), report);
        }
      }
      if (!agents_[i]->is_open() && watch != nullptr) lose(*watch, static_cast<int>(i));
    }
    look_for_silence(watch);
  }

  /// Returns why a host is not found, "" if it is or nobody can say; none before there is an answer. Looks up few hosts
  /// at a time, since each lookup has open files.
  std::optional<std::string> looked_up(const std::string& host) {
    constexpr size_t kMaxLookups = 4;
    if (!lookups_.contains(host) && lookups_.size() >= kMaxLookups) return std::nullopt;
    try {
      return lookups_.try_emplace(host, options_.program, host).first->second.answer();
    } catch (const RuntimeFailure&) {  // no process or file is left for it
      return "";
    }
  }

  /// Records the loss of a host whose agent has ended. If the agent has never answered and ssh does not find the host,
  /// it is a mistake in its name: asks for that first, and records nothing before there is an answer. Does not ask if
  /// the job is to end anyway.
  void lose(Watch& watch, int host) {
    const std::string& name = agents_[static_cast<size_t>(host)]->host();
    std::optional<std::string> reason = "";
    if (asked_ == 0 && options_.ssh.empty() && !heard_.contains(name) && !watch.has_ended(host))
      reason = looked_up(name);
    if (!reason) return;
    lookups_.erase(name);
    if (reason->empty()) return watch.lose_host(host, "can no longer be reached");
    watch.lose_host(host, fmt::format("has no address, got '{}', expected the name of a host", *reason),
                    ExitCode::usage);
  }

  /// Closes the links of agents that have sent no sign of life for too long. Records the loss of their hosts in `watch`
  /// unless it is null.
  void look_for_silence(Watch* watch) {
    const auto longest = longest_silence(options_.stall_timeout);
    for (size_t i = 0; i < agents_.size(); ++i) {
      AgentLink& agent = *agents_[i];
      if (!agent.is_open()) continue;
      Heartbeat& heart = agent.heartbeat();
      heart.tick(std::chrono::steady_clock::now());
      if (heart.silent() <= (heart.was_heard() ? longest : std::max<Deadline::duration>(longest, kAgentTime))) continue;
      agent.close();
      if (watch == nullptr) continue;
      watch->lose_host(static_cast<int>(i),
                       fmt::format("has been silent for {:.1f} s, got no sign of life of its agent, expected one",
                                   std::chrono::duration<double>(heart.silent()).count()),
                       ExitCode::peer_stalled);
    }
  }

  void pass_on(int number) {
    if (number == 0) return;
    if (number != SIGUSR1) {
      is_urgent_ = asked_ != 0;
      asked_ = number;
    }
    for (const auto& agent : agents_) agent->send({.kind = AgentOrder::Kind::signal, .signal = number});
  }

  const JobOptions& options_;
  std::vector<HostSlots> hosts_;
  const std::string secret_;
  SignalFile signals_;  // before the folder, which a signal would leave over
  LogFolder logs_;
  std::vector<std::unique_ptr<AgentLink>> agents_;
  std::set<std::string> heard_;                // hosts whose agents have answered
  std::map<std::string, HostLookup> lookups_;  // by host; running ones
  int asked_ = 0;                              // the signal that asked the job to end; 0: none
  bool is_urgent_ = false;                     // a second signal was received
  bool has_shrunk_ = false;
  std::string failed_host_;
  int failed_rank_ = -1;
  std::string refusal_;  // refusal of the last attempt
};

}  // namespace

std::vector<std::string> restart_command(const std::vector<std::string>& command) {
  const auto is_flag = [](const std::string& word, const std::string& flag) {
    return word == flag || word.starts_with(flag + "=");
  };
  if (std::ranges::none_of(command, [&](const auto& word) { return is_flag(word, "--checkpoint"); })) {
    return command;
  }
  std::vector<std::string> restarted;
  for (size_t i = 0; i < command.size(); ++i) {
    if (!is_flag(command[i], "--resume")) {
      restarted.push_back(command[i]);
    } else if (command[i] == "--resume") {
      ++i;  // and its argument
    }
  }
  restarted.insert(restarted.end(), {"--resume", "latest"});
  return restarted;
}

int run_job(const JobOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  return Launcher(options).run();
}

}  // namespace partita
