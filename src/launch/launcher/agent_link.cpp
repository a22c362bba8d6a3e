#include "launch/launcher/agent_link.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "comm/processes/host.h"

namespace partita {
namespace {

constexpr const char* kSsh = "ssh -o BatchMode=yes -o ServerAliveInterval=5 -o ServerAliveCountMax=3";

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : command + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

Child start_agent(const std::string& host, const std::string& program, const std::string& ssh) {
  ChildOptions options{.command = {program, "launch-agent"}, .has_input = true, .shares_errors = true};
  const bool is_of_user = host.find('@') != std::string::npos;
  if (!ssh.empty() || is_of_user || !is_this_host(host)) {
    options.command = words_of(ssh.empty() ? kSsh : ssh);
    options.command.push_back(host);
    options.command.push_back(quoted(program) + " launch-agent");
  }
  return Child(options);
}

}  // namespace

bool is_this_host(const std::string& name) {
  if (name == "localhost" || name == "127.0.0.1" || name == "::1" || name == host_name()) return true;
  try {  // an address of this host is one that it can listen at
    return listen_on({name, 0}).is_open();
  } catch (const Error&) {
    return false;
  }
}

AgentLink::AgentLink(const std::string& host, const std::string& program, const std::string& ssh)
    : host_(host), child_(start_agent(host, program, ssh)) {}

void AgentLink::close() {
  is_open_ = false;
  child_.signal(SIGKILL);
}

void AgentLink::send(const AgentOrder& order) {
  if (!is_open_) return;
  const std::string line = print(order) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t written = ::write(child_.input().file(), line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return close();
    done += static_cast<size_t>(written);
  }
}

std::vector<AgentReport> AgentLink::receive() {
  std::vector<AgentReport> reports;
  const bool goes_on = lines_.read(file());
  while (const auto line = lines_.next()) {
    // What a shell on the way prints is no report.
    if (line->starts_with("{")) reports.push_back(parse_report(*line));
  }
  if (!goes_on) close();
  return reports;
}

}  // namespace partita
