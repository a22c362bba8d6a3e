#include "runtime/launch/launcher/child.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/open_file_limit.h"

namespace partita {
namespace {

/// Returns what a command prints.
std::string printed_by(const std::vector<std::string>& command) {
  Child child({.command = command, .shares_errors = true});
  std::string text;
  char part[256];
  while (true) {
    pollfd output{.fd = child.output().file(), .events = POLLIN, .revents = 0};
    ::poll(&output, 1, -1);
    const ssize_t bytes = ::read(child.output().file(), part, sizeof part);
    if (bytes <= 0) return text;
    text.append(part, static_cast<size_t>(bytes));
  }
}

TEST(Child, HasTheLimitOfOpenFilesFromBeforeItWasRaised) {
  const std::vector<std::string> ask{"sh", "-c", "ulimit -n"};
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit low{.rlim_cur = 200, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &low);
  {
    const RaisedOpenFileLimit raised;
    EXPECT_EQ(open_file_limit(), static_cast<int64_t>(before.rlim_max));
    EXPECT_EQ(printed_by(ask), "200\n");
  }
  EXPECT_EQ(open_file_limit(), 200);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace partita
