// Plugins that crash, hang or cannot be opened, in processes of their own.

#include "runtime/device/xla/probe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "frontend/data/readers/test_files.h"
#include "support/places.h"

namespace partita {
namespace {

class Probe : public testing::Test {
 protected:
  Probe() {
    if (const char* given = std::getenv("PARTITA_PJRT_PLUGIN")) before_ = given;
  }
  ~Probe() override {
    ::unsetenv("PARTITA_BROKEN_PLUGIN");
    if (before_) ::setenv("PARTITA_PJRT_PLUGIN", before_->c_str(), 1);
    if (!before_) ::unsetenv("PARTITA_PJRT_PLUGIN");
  }

  /// Returns the reports about one plugin, whose name says its kind of device.
  std::vector<PluginReport> reports_of(const char* how, const std::string& name = "rocm.so", int seconds = 20) {
    const std::filesystem::path path = folder_.path() / name;
    std::filesystem::copy_file(kLoadedLibrary, path, std::filesystem::copy_options::overwrite_existing);
    ::setenv("PARTITA_PJRT_PLUGIN", path.c_str(), 1);
    ::setenv("PARTITA_BROKEN_PLUGIN", how, 1);
    return probe_plugins(seconds);
  }

  const TempDir folder_;
  std::optional<std::string> before_;
};

const PluginReport& report_of(const std::vector<PluginReport>& reports, const std::string& device) {
  for (const PluginReport& report : reports) {
    if (report.device == device) return report;
  }
  throw std::out_of_range(device);
}

TEST_F(Probe, UnknownFlagsOfXlaAreAReport) {
  ::setenv("XLA_FLAGS", "--nonsense", 1);
  const PluginReport report = report_of(reports_of("crashes"), "rocm");
  ::unsetenv("XLA_FLAGS");
  EXPECT_EQ(
      report.missing,
      fmt::format(
          "[device] XLA_FLAGS has a flag that the plugin does not know, got '--nonsense', expected a flag named in {}",
          (folder_.path() / "rocm.so").string()));
  EXPECT_EQ(report.remedy, "unset XLA_FLAGS");
}

TEST_F(Probe, APluginThatEndsTheProcessIsAReport) {
  const auto crashes = reports_of("crashes");
  EXPECT_EQ(report_of(crashes, "rocm").missing,
            "[device] the plugin ends the process, got signal 6, expected its devices");
  EXPECT_EQ(report_of(crashes, "rocm").remedy, "unset PARTITA_PJRT_PLUGIN");
  EXPECT_EQ(report_of(crashes, "cuda").missing,
            fmt::format("[device] PARTITA_PJRT_PLUGIN names a plugin of other devices, got {}",
                        (folder_.path() / "rocm.so").string()));
  EXPECT_EQ(report_of(crashes, "cuda").path, "");
  const auto ends = reports_of("ends");
  EXPECT_EQ(report_of(ends, "rocm").missing,
            "[device] the plugin ends the process, got exit code 3, expected its devices");
}

TEST_F(Probe, APluginThatHangsIsAReport) {
  EXPECT_EQ(report_of(reports_of("hangs", "rocm.so", /*seconds=*/1), "rocm").missing,
            "[device] the plugin does not answer, got nothing in 1 s, expected its devices");
}

TEST_F(Probe, APluginThatCannotBeUsedIsAReport) {
  const auto reports = reports_of("returns", "any.so");
  ASSERT_EQ(reports.size(), 5U);
  for (const PluginReport& report : reports) {
    EXPECT_NE(report.missing.find("a plugin that cannot be used, got no functions"), std::string::npos)
        << report.missing;
    EXPECT_EQ(report.devices, 0);
  }
}

/// Runs a body in a new process. Returns whether it ended well.
template <class Body>
bool succeeds_apart(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status == 0;
}

bool reports(const std::vector<PluginReport>& reports, const std::string& message) {
  const std::string found = report_of(reports, "tpu").missing;
  if (found != message) fmt::print("{}\n", found);
  return found == message;
}

TEST_F(Probe, WithoutFilesOrProcessesNoPluginIsTried) {
  ::setenv("PARTITA_PJRT_PLUGIN", "/nowhere/libtpu.so", 1);
  EXPECT_TRUE(succeeds_apart([] {
    const int next = ::dup(STDIN_FILENO);
    ::close(next);
    const rlimit limit{static_cast<rlim_t>(next), static_cast<rlim_t>(next)};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    return reports(probe_plugins(), "[device] cannot try the plugin, got no pipe, expected free files (ulimit -n)");
  }));
  if (::geteuid() != 0) GTEST_SKIP() << "processes of the user may run";
  EXPECT_TRUE(succeeds_apart([] {
    const rlimit limit{0, 0};
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0 || ::setuid(65534) != 0) return false;
    return reports(probe_plugins(),
                   "[device] cannot try the plugin, got no process, expected free processes (ulimit -u)");
  }));
}

TEST_F(Probe, APluginThatIsNotThereIsAReport) {
  ::setenv("PARTITA_PJRT_PLUGIN", "/nowhere/libtpu.so", 1);
  const auto reports = probe_plugins();
  EXPECT_TRUE(report_of(reports, "tpu").missing.starts_with("[device] no PJRT plugin, got /nowhere/libtpu.so"))
      << report_of(reports, "tpu").missing;
}

// Runs if PARTITA_PJRT_PLUGIN names a plugin for CPUs (tools/xla/get_plugin.sh).
TEST_F(Probe, APluginSaysItsDevices) {
  if (!before_ || before_->find("cpu") == std::string::npos) GTEST_SKIP() << "no plugin for CPUs";
  const auto reports = probe_plugins();
  const PluginReport& report = report_of(reports, "xla:cpu");
  EXPECT_EQ(report.missing, "");
  EXPECT_EQ(report.path, *before_);
  EXPECT_TRUE(report.version.starts_with("0.")) << report.version;
  EXPECT_GE(report.devices, 1);
  EXPECT_NE(report.kind, "");
}

}  // namespace
}  // namespace partita
