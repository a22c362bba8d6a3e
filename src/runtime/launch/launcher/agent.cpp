#include "runtime/launch/launcher/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "base/error.h"
#include "runtime/comm/flight_record.h"
#include "runtime/comm/shared_memory/segment.h"
#include "runtime/comm/sockets/addresses.h"
#include "runtime/launch/launcher/child.h"
#include "runtime/launch/launcher/heartbeat.h"
#include "runtime/launch/launcher/lines.h"
#include "runtime/launch/launcher/log_folder.h"
#include "runtime/launch/launcher/orders.h"
#include "runtime/launch/refusal.h"

namespace partita {
namespace {

constexpr size_t kMaxLines = 20, kMaxLineBytes = 8192;
constexpr int kOwnFiles = 32;  // open files of a process in addition to one per rank

/// One rank and its streams. Those of rank 0 pass through the agent, which forwards them.
struct RunningRank {
  int rank = 0;
  RankLogs logs;
  Child child;
  bool was_stopped = false, has_ended = false;
};

/// Writes to a log. Ignores errors: the job continues.
void write_log(const Socket& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.file(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

/// The last lines of a file, at most kMaxLines and kMaxLineBytes; "" if it cannot be read.
std::string last_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<int64_t>(file.tellg());
  if (!file || size < 0) return "";
  const int64_t bytes = std::min<int64_t>(size, kMaxLineBytes);
  file.seekg(size - bytes);
  std::string text(static_cast<size_t>(bytes), '\0');
  file.read(text.data(), bytes);
  size_t begin = text.size();
  for (size_t lines = 0; begin > 0 && lines <= kMaxLines; --begin) {
    if (text[begin - 1] == '\n' && begin != text.size()) ++lines;
    if (lines == kMaxLines) break;
  }
  return text.substr(begin);
}

/// Renames FOLDER/flight_record to flight_record.N, N = `attempt` - 1, or removes it if `attempt` is 0. Ignores errors.
void keep_record(const std::string& folder, int attempt) {
  std::error_code failure;
  const std::string record = folder + "/flight_record";
  if (attempt > 0) {
    std::filesystem::rename(record, fmt::format("{}.{}", record, attempt - 1), failure);
  } else {
    std::filesystem::remove(record, failure);
  }
}

std::string refusal_file(const RankLogs& logs) { return logs.folder + "/refusal"; }

/// Returns the text with which a rank refused its number of ranks, at most 4 KiB of it, and removes its file; "" if
/// there is none.
std::string taken_refusal(const RankLogs& logs) {
  constexpr std::streamsize kMaxBytes = 4096;
  std::error_code failure;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(refusal_file(logs), failure))) return "";
  std::string text(kMaxBytes, '\0');
  std::ifstream file(refusal_file(logs), std::ios::binary);
  file.read(text.data(), kMaxBytes);
  text.resize(static_cast<size_t>(file.gcount()));
  std::filesystem::remove(refusal_file(logs), failure);
  return text;
}

/// Returns the address at which rank 0 listens: that of the order or, if that is a loopback address and other hosts
/// take part, an address of this host that they can reach. Throws InvalidArgument if this host has no such address.
std::string reachable_address(const AgentOrder& order) {
  if (order.others.empty() || !is_loopback(order.address)) return order.address;
  const std::string address = outward_address(order.others);
  if (!address.empty()) return address;
  throw InvalidArgument(
      "[launch] no address of {} for other hosts, got only loopback addresses of this host, expected a network, or no "
      "other hosts",
      order.address);
}

class Agent {
 public:
  int run() {
    while (!is_over_) {
      std::vector<pollfd> files{{.fd = STDIN_FILENO, .events = POLLIN}};
      std::vector<std::function<void()>> actions{[this] { read_orders(); }};
      for (const auto& rank : ranks_) {
        if (rank->has_ended) continue;
        add(files, actions, rank->child.ended(), [this, one = rank.get()] { look_at(*one); });
        add(files, actions, rank->child.output(), [this, one = rank.get()] { pass_on(*one, false); });
        add(files, actions, rank->child.errors(), [this, one = rank.get()] { pass_on(*one, true); });
      }
      constexpr auto kInterval = static_cast<int>(Heartbeat::kInterval.count());
      const int ready = ::poll(files.data(), files.size(), kInterval);
      if (ready < 0 && errno != EINTR) return static_cast<int>(ExitCode::internal);
      const Deadline now = std::chrono::steady_clock::now();
      launcher_.tick(now);
      for (size_t i = 0; i < files.size() && ready > 0; ++i) {
        if (files[i].revents != 0) actions[i]();
      }
      if (launcher_.take_due(now)) tell({.kind = AgentReport::Kind::alive});
      if (launcher_.silent() > longest_silence_) is_over_ = true;
    }
    ranks_.clear();  // kills the ranks
    return 0;
  }

 private:
  static void add(std::vector<pollfd>& files, std::vector<std::function<void()>>& actions, const Socket& file,
                  std::function<void()> action) {
    if (!file.is_open()) return;
    files.push_back({.fd = file.file(), .events = POLLIN});
    actions.push_back(std::move(action));
  }

  void tell(const AgentReport& report) {
    const std::string line = print(report) + "\n";
    for (size_t done = 0; done < line.size();) {
      const ssize_t written = ::write(STDOUT_FILENO, line.data() + done, line.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        is_over_ = true;
        return;
      }
      done += static_cast<size_t>(written);
    }
  }

  void read_orders() {
    if (!orders_.read(STDIN_FILENO)) {
      is_over_ = true;
      return;
    }
    while (const auto line = orders_.next()) {
      launcher_.heard();
      try {
        obey(parse_order(*line));
      } catch (const Error& error) {
        tell({.kind = AgentReport::Kind::failed, .text = error.what(), .code = static_cast<int>(error.code())});
      }
    }
  }

  void obey(const AgentOrder& order) {
    switch (order.kind) {
      case AgentOrder::Kind::listen:
        listener_ = listen_on({reachable_address(order), 0});
        tell({.kind = AgentReport::Kind::listening, .text = print(local_endpoint(listener_))});
        break;
      case AgentOrder::Kind::start: start(order.start); break;
      case AgentOrder::Kind::signal:
        for (const auto& rank : ranks_) rank->child.signal(order.signal);
        if (order.signal != SIGUSR1) asked_ = order.signal;
        break;
      case AgentOrder::Kind::stop:
        for (const auto& rank : ranks_) {
          if (rank->has_ended) continue;
          if (!rank->child.status()) {
            rank->was_stopped = true;
            rank->child.signal(SIGKILL);
          }
          finish(*rank);
        }
        break;
      case AgentOrder::Kind::alive: break;
    }
  }

  void start(const StartOrder& order) {
    ranks_.clear();
    longest_silence_ = longest_silence(order.stall_timeout);
    // A rank has connections to all others; the agent needs fewer files for the ranks of this host.
    require_open_files("launch", order.size + kOwnFiles, fmt::format("{} ranks", order.size));
    for (int i = 0; i < order.ranks; ++i) {
      const int rank = order.first_rank + i;
      if (asked_ != 0) {  // the signal was for this rank too
        tell({.kind = AgentReport::Kind::ended, .rank = rank, .signal = asked_});
        continue;
      }
      RankLogs logs(order.log_dir, rank, order.attempt > 0);
      ChildOptions options{.command = order.command, .environment = order.environment, .folder = order.folder};
      keep_record(logs.folder, order.attempt);
      taken_refusal(logs);
      options.environment[kRefusalVariable] = refusal_file(logs);
      options.environment.insert({{"PARTITA_RANK", fmt::to_string(rank)},
                                  {"PARTITA_SIZE", fmt::to_string(order.size)},
                                  {"PARTITA_LOCAL_RANK", fmt::to_string(i)},
                                  {"PARTITA_LOCAL_SIZE", fmt::to_string(order.ranks)},
                                  {"PARTITA_MASTER", order.master},
                                  {"PARTITA_ADDRESS", order.address},
                                  {"PARTITA_SECRET", order.secret},
                                  {"PARTITA_RUN", order.run},
                                  {"PARTITA_START_TIMEOUT", fmt::format("{}", order.stall_timeout)},
                                  {"PARTITA_STALL_TIMEOUT", fmt::format("{}", order.stall_timeout)},
                                  {"PARTITA_FLIGHT_RECORD", order.log_dir}});
      if (rank == 0) {
        options.kept = listener_.file();
        options.environment["PARTITA_LISTENER"] = fmt::to_string(listener_.file());
      } else {
        options.output = logs.output.file();
        options.errors = logs.errors.file();
      }
      auto running =
          std::make_unique<RunningRank>(RunningRank{.rank = rank, .logs = std::move(logs), .child = Child(options)});
      running->logs.write_process(running->child.process());
      if (rank == 0) {
        listener_.close();  // the rank owns it now
      } else {
        running->logs.output.close();
        running->logs.errors.close();
      }
      ranks_.push_back(std::move(running));
    }
  }

  /// Copies what rank 0 has printed so far, to stderr if `is_error`, else to stdout, to its log and to the launcher.
  /// Closes the stream at its end.
  void pass_on(RunningRank& rank, bool is_error) {
    Socket& stream = is_error ? rank.child.errors() : rank.child.output();
    std::array<char, 16384> bytes;
    while (stream.is_open()) {
      const ssize_t received = ::read(stream.file(), bytes.data(), bytes.size());
      if (received < 0 && errno == EAGAIN) return;
      if (received <= 0) return stream.close();
      const std::string text(bytes.data(), static_cast<size_t>(received));
      write_log(is_error ? rank.logs.errors : rank.logs.output, text);
      tell({.kind = AgentReport::Kind::output, .text = text, .is_error = is_error, .rank = rank.rank});
    }
  }

  void look_at(RunningRank& rank) {
    if (rank.child.status()) finish(rank);
  }

  void finish(RunningRank& rank) {
    if (rank.has_ended) return;
    while (!rank.child.status()) ::poll(nullptr, 0, 1);
    rank.has_ended = true;
    if (rank.rank == 0) {
      pass_on(rank, false);
      pass_on(rank, true);
    }
    unlink_segments_of(rank.child.process());
    const int status = *rank.child.status();
    AgentReport report{.kind = AgentReport::Kind::ended,
                       .rank = rank.rank,
                       .code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                       .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                       .was_stopped = rank.was_stopped,
                       .refusal = taken_refusal(rank.logs),
                       .lines = last_lines(rank.logs.folder + "/stderr")};
    try {
      const FlightLog log = read_flight_record(rank.logs.folder + "/flight_record");
      report.lost = log.lost;
      report.text = log.failure;
      report.step = log.step;
      if (!log.entries.empty()) report.last = describe(log.entries.back());
    } catch (const Error&) {  // it ended before it had a record
    }
    tell(report);
  }

  Lines orders_;
  Heartbeat launcher_{std::chrono::steady_clock::now()};
  /// Silence of the launcher that is tolerated. A default until it sends its timeout.
  Deadline::duration longest_silence_ = std::chrono::minutes(1);
  Socket listener_;
  std::vector<std::unique_ptr<RunningRank>> ranks_;
  int asked_ = 0;  // the signal that asked the ranks to end; 0: none
  bool is_over_ = false;
};

}  // namespace

int run_agent() {
  ::signal(SIGPIPE, SIG_IGN);
  return Agent().run();
}

}  // namespace partita
