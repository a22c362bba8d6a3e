#include "runtime/launch/launcher/host_lookup.h"

#include <poll.h>

#include <map>

#include "base/plain_text.h"
#include "runtime/launch/launcher/agent_link.h"
#include "runtime/launch/launcher/lines.h"

namespace partita {
namespace {

/// Returns the options with which ssh would connect to a host, such as "hostname", by name; none if it does not say.
std::map<std::string, std::string> ssh_options(const std::string& host) {
  Child ssh({.command = {"ssh", "-G", host}});
  std::map<std::string, std::string> options;
  Lines lines;
  for (bool goes_on = true; goes_on;) {
    pollfd output{.fd = ssh.output().file(), .events = POLLIN, .revents = 0};
    ::poll(&output, 1, -1);
    goes_on = lines.read(ssh.output().file());
    while (const auto line = lines.next()) {
      std::string_view rest = *line;
      const std::string name(next_word(rest));
      options[name] = next_word(rest);
    }
  }
  return options;
}

}  // namespace

std::string why_no_host(const std::string& host) {
  if (host.find('@') == std::string::npos && is_this_host(host)) return "";
  std::map<std::string, std::string> options = ssh_options(host);
  for (const char* hop : {"proxyjump", "proxycommand"}) {
    if (const std::string& value = options[hop]; !value.empty() && value != "none") return "";
  }
  return options["hostname"].empty() ? "" : why_unknown(options["hostname"]);
}

HostLookup::HostLookup(const std::string& program, const std::string& host)
    : child_({.command = {program, "launch-lookup", host}}), until_(deadline_after(kMaxTime)) {}

std::optional<std::string> HostLookup::answer() {
  const std::optional<int> status = child_.status();
  if (!status && std::chrono::steady_clock::now() < until_) return std::nullopt;
  if (status != 0) return "";
  Lines lines;
  lines.read(child_.output().file());
  return lines.next().value_or("");
}

}  // namespace partita
