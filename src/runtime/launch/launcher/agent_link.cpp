#include "runtime/launch/launcher/agent_link.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>

#include "base/error.h"
#include "base/plain_text.h"
#include "base/resources.h"
#include "runtime/comm/processes/host.h"

namespace partita {
namespace {

constexpr const char* kSsh = "ssh -o BatchMode=yes -o ServerAliveInterval=5 -o ServerAliveCountMax=3";

Child start_agent(const std::string& host, const std::string& program, const std::string& ssh) {
  ChildOptions options{.command = {program, "launch-agent"}, .has_input = true, .shares_errors = true};
  const bool is_of_user = host.find('@') != std::string::npos;
  if (!ssh.empty() || is_of_user || !is_this_host(host)) {
    const std::vector<std::string_view> words = split_words(ssh.empty() ? std::string_view(kSsh) : ssh, " ");
    options.command.assign(words.begin(), words.end());
    options.command.push_back(host);
    options.command.push_back(single_quoted(program) + " launch-agent");
  }
  return Child(options);
}

}  // namespace

bool is_this_host(const std::string& name) {
  if (name == "localhost" || name == "127.0.0.1" || name == "::1" || name == host_name()) return true;
  try {  // this host can listen only at its own addresses
    return listen_on({name, 0}).is_open();
  } catch (const Error&) {
    return false;
  }
}

AgentLink::AgentLink(const std::string& host, const std::string& program, const std::string& ssh)
    : host_(host), child_(start_agent(host, program, ssh)) {
  const int input = child_.input().file();
  ::fcntl(input, F_SETFL, ::fcntl(input, F_GETFL) | O_NONBLOCK);
  beats_ = start_thread("signs of life for an agent", [this](const std::stop_token& end) { beat(end); });
}

void AgentLink::close() {
  is_open_ = false;
  child_.signal(SIGKILL);
}

bool AgentLink::write(const std::string& line, std::chrono::milliseconds patience) {
  const std::lock_guard lock(writing_);
  for (size_t done = 0; done < line.size();) {
    const ssize_t written = ::write(child_.input().file(), line.data() + done, line.size() - done);
    if (written > 0) {
      done += static_cast<size_t>(written);
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    pollfd file{.fd = child_.input().file(), .events = POLLOUT, .revents = 0};
    const bool is_full = written < 0 && errno == EAGAIN;
    if (!is_full || ::poll(&file, 1, static_cast<int>(patience.count())) <= 0) return false;
  }
  return true;
}

void AgentLink::send(const AgentOrder& order) {
  constexpr std::chrono::milliseconds kPatience{5000};
  if (is_open_ && !write(print(order) + "\n", kPatience)) close();
}

void AgentLink::beat(const std::stop_token& end) {
  const std::string line = print(AgentOrder{.kind = AgentOrder::Kind::alive}) + "\n";
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any ended;
  // Ignores failures: the agent's own signs of life show whether it runs.
  while (!ended.wait_for(lock, end, Heartbeat::kInterval, [] { return false; }) && !end.stop_requested()) {
    if (is_open_) write(line, std::chrono::milliseconds(0));
  }
}

std::vector<AgentReport> AgentLink::receive() {
  std::vector<AgentReport> reports;
  const bool goes_on = lines_.read(file());
  while (const auto line = lines_.next()) {
    // Ignores what a shell in between prints.
    if (line->starts_with("{")) reports.push_back(parse_report(*line));
  }
  if (!reports.empty()) heartbeat_.heard();
  if (!goes_on) close();
  return reports;
}

}  // namespace partita
