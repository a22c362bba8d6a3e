#include "runtime/launch/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>

namespace partita {
namespace {

/// The status of a process of its own that does this, and then ends with 0. What a shell ignores for programs in the
/// background counts there.
int status_of(const std::function<void()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_DFL);
    act();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Signals, TheFirstIsKeptAndTheSecondEndsAtOnce) {
  for (const int second : {SIGTERM, SIGINT, SIGHUP}) {
    const int status = status_of([second] {
      const SignalGuard guard;
      ::raise(SIGTERM);
      if (SignalGuard::requests().stop != SIGTERM) ::_exit(1);
      ::raise(second);
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), second);
  }
}

/// Returns what a signal prints on a terminal before anybody asks for signals.
std::string printed_by_child(int signal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return "no terminal";
  const int other_end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  EXPECT_EQ(status_of([&] {
              ::dup2(other_end, STDERR_FILENO);
              const SignalGuard guard;
              ::raise(signal);
            }),
            0);
  std::array<char, 1024> bytes{};
  ::fcntl(terminal, F_SETFL, O_NONBLOCK);
  const ssize_t count = ::read(terminal, bytes.data(), bytes.size());
  ::close(other_end);
  ::close(terminal);
  return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(count, 0))};
}

TEST(Signals, CtrlCOnATerminalIsAnsweredAtOnce) {
  const std::string printed = printed_by_child(SIGINT);
  if (printed == "no terminal") GTEST_SKIP() << printed;
  EXPECT_NE(printed.find("partita: stopping after the current step or compilation; press Ctrl-C again to stop at once"),
            std::string::npos)
      << printed;
  EXPECT_EQ(printed_by_child(SIGTERM), "");
}

TEST(Signals, OfOneTrainingAreNotThoseOfTheNext) {
  EXPECT_EQ(status_of([] {
              for (int training = 0; training < 2; ++training) {
                const SignalGuard guard;
                if (SignalGuard::requests().stop != 0) ::_exit(1);
                ::raise(SIGTERM);
                if (SignalGuard::requests().stop != SIGTERM) ::_exit(2);
              }
            }),
            0);
}

TEST(Signals, SavesAreCounted) {
  EXPECT_EQ(status_of([] {
              const SignalGuard guard;
              ::raise(SIGUSR1);
              ::raise(SIGUSR1);
              const SignalRequests requests = SignalGuard::requests();
              if (requests.saves != 2 || requests.stop != 0) ::_exit(1);
            }),
            0);
}

TEST(Signals, WhatIsIgnoredStaysIgnoredAndWhatWasBeforeComesBack) {
  EXPECT_EQ(status_of([] {
              ::signal(SIGHUP, SIG_IGN);
              {
                const SignalGuard guard;
                ::raise(SIGHUP);
              }
              if (SignalGuard::requests().stop != 0) ::_exit(1);
            }),
            0);
  const int status = status_of([] {
    { const SignalGuard guard; }
    ::raise(SIGINT);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Signals, HaveNames) { EXPECT_STREQ(signal_name(SIGTERM), "SIGTERM"); }

}  // namespace
}  // namespace partita
