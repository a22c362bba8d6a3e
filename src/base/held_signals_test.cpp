#include "base/held_signals.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <thread>

namespace partita {
namespace {

sigset_t mask() {
  sigset_t set;
  pthread_sigmask(SIG_BLOCK, nullptr, &set);
  return set;
}

bool holds(int signal) {
  const sigset_t set = mask();
  return sigismember(&set, signal) == 1;
}

TEST(HeldSignals, AreHeldUntilTheOutermostScopeEnds) {
  ASSERT_FALSE(holds(SIGTERM));
  {
    const HeldSignals outer;
    { const HeldSignals inner; }
    for (const int held : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPROF, SIGALRM, SIGCHLD, SIGRTMIN}) {
      EXPECT_TRUE(holds(held)) << held;
    }
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) EXPECT_FALSE(holds(own)) << own;
  }
  EXPECT_FALSE(holds(SIGTERM));
}

TEST(HeldSignals, KeepWhatTheCallerHeld) {
  std::thread([] {
    hold_signals();
    { const HeldSignals held; }
    EXPECT_TRUE(holds(SIGTERM));
  }).join();
  EXPECT_FALSE(holds(SIGTERM));
}

TEST(HeldSignals, AreReleasedForAWhile) {
  { const ReleasedSignals nothing; }
  ASSERT_FALSE(holds(SIGTERM));
  {
    const HeldSignals outer;
    const HeldSignals inner;
    {
      const ReleasedSignals released;
      EXPECT_FALSE(holds(SIGTERM));
    }
    EXPECT_TRUE(holds(SIGTERM));
  }
  EXPECT_FALSE(holds(SIGTERM));
  const ReleasedSignals nothing;
  EXPECT_FALSE(holds(SIGTERM));
}

TEST(HeldSignals, AreInherited) {
  const HeldSignals held;
  bool inherited = false;
  std::thread([&] { inherited = holds(SIGTERM); }).join();
  EXPECT_TRUE(inherited);
}

}  // namespace
}  // namespace partita
