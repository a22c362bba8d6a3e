#include "runtime/device/xla/probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/open_file_limit.h"
#include "base/plain_text.h"
#include "runtime/device/xla/accelerator.h"
#include "runtime/device/xla/xla_flags.h"

namespace partita {
namespace {

/// Returns lines: "ok", version, number of devices and kind; or "flags" for flags that the plugin would not take, else
/// "error", and the message.
std::string tried(const std::string& device) {
  try {
    const Accelerator accelerator = Accelerator::open(device, 0);
    const pjrt::Client& client = accelerator.client();
    return fmt::format("ok\n{}\n{}\n{}\n", accelerator.version(), client.devices(), client.kind(0));
  } catch (const XlaFlagsFailure& error) {
    return fmt::format("flags\n{}\n", error.what());
  } catch (const std::exception& error) {
    return fmt::format("error\n{}\n", error.what());
  }
}

/// Runs in the new process, and ends it. The plugin may print what it likes.
[[noreturn]] void answer(const std::string& device, int to) {
  restore_open_file_limit();
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
  const std::string text = tried(device);
  const ssize_t written = ::write(to, text.data(), text.size());
  ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

/// Reads until the other end is closed or the time is over. Returns whether it was closed.
bool read_until(int from, std::chrono::steady_clock::time_point end, std::string& text) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd waiting{.fd = from, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) == 0) return false;
    char bytes[4096];
    const ssize_t count = ::read(from, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text.append(bytes, static_cast<size_t>(count));
  }
}

void read_answer(const std::string& text, PluginReport& report) {
  const std::vector<std::string_view> lines = split_lines(text);
  const std::string_view word = lines.empty() ? "" : lines[0];
  if (word == "error" || word == "flags") {
    report.missing = text.substr(std::min(text.size(), word.size() + 1));
    while (report.missing.ends_with('\n')) report.missing.pop_back();
    if (word == "flags") report.remedy = "unset XLA_FLAGS";
    return;
  }
  const auto line = [&](size_t number) { return number < lines.size() ? lines[number] : ""; };
  report.version = line(1);
  report.devices = parse_number<int>(line(2)).value_or(0);
  report.kind = line(3);
}

/// Tries the plugin of `report` in a process of its own, and fills in what it says.
void try_apart(int seconds, PluginReport& report) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    report.missing = "[device] cannot try the plugin, got no pipe, expected free files (ulimit -n)";
    return;
  }
  const pid_t child = ::fork();
  if (child == 0) answer(report.device, ends[1]);
  ::close(ends[1]);
  std::string text;
  const bool has_ended =
      child < 0 || read_until(ends[0], std::chrono::steady_clock::now() + std::chrono::seconds(seconds), text);
  ::close(ends[0]);
  int status = 0;
  if (child > 0) {
    if (!has_ended) ::kill(child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  }
  if (child < 0) {
    report.missing = "[device] cannot try the plugin, got no process, expected free processes (ulimit -u)";
  } else if (!has_ended) {
    report.missing =
        fmt::format("[device] the plugin does not answer, got nothing in {} s, expected its devices", seconds);
  } else if (text.empty()) {
    report.missing = fmt::format("[device] the plugin ends the process, got {} {}, expected its devices",
                                 WIFSIGNALED(status) ? "signal" : "exit code",
                                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  } else {
    read_answer(text, report);
  }
}

/// Whether the plugin that PARTITA_PJRT_PLUGIN names can be one for this vendor, by the name of its file. A file that
/// names no vendor can be for any.
bool may_serve(const std::string& given, const Vendor& vendor) {
  const std::string file = std::filesystem::path(given).filename();
  const auto is_for = [&](const Vendor& one) {
    return file.find(one.platform) != std::string::npos || file.find(one.name) != std::string::npos;
  };
  bool names_one = false;
  for (const Vendor& one : vendors()) names_one = names_one || is_for(one);
  return !names_one || is_for(vendor);
}

}  // namespace

std::vector<PluginReport> probe_plugins(int seconds) {
  const char* given = std::getenv("PARTITA_PJRT_PLUGIN");
  std::vector<PluginReport> reports;
  for (const Vendor& vendor : vendors()) {
    PluginReport report;
    report.device = vendor.name;
    if (given != nullptr && *given != '\0' && !may_serve(given, vendor)) {
      report.missing = fmt::format("[device] PARTITA_PJRT_PLUGIN names a plugin of other devices, got {}", given);
      report.remedy = device_remedy(vendor.name);
      reports.push_back(std::move(report));
      continue;
    }
    try {
      report.path = find_plugin(vendor.name);
      try_apart(seconds, report);
    } catch (const RuntimeFailure& error) {
      report.missing = error.what();
    }
    if (!report.missing.empty() && report.remedy.empty()) report.remedy = device_remedy(vendor.name);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace partita
