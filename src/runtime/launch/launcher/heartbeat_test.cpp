#include "runtime/launch/launcher/heartbeat.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

using namespace std::chrono_literals;

TEST(Heartbeat, CountsTheTimeInWhichItRuns) {
  Deadline now{};
  Heartbeat other(now);
  for (int i = 0; i < 20; ++i) other.tick(now += 300ms);
  EXPECT_EQ(other.silent(), 6s);
  EXPECT_FALSE(other.was_heard());
  other.heard();
  EXPECT_EQ(other.silent(), 0s);
  EXPECT_TRUE(other.was_heard());
  // This process was stopped for an hour: the other may have said much in that hour.
  other.tick(now += 1h);
  EXPECT_LE(other.silent(), 1s);
}

TEST(Heartbeat, IsDueAgainAfterAnInterval) {
  Deadline now{};
  Heartbeat other(now);
  EXPECT_TRUE(other.take_due(now));
  EXPECT_FALSE(other.take_due(now += 499ms));
  EXPECT_TRUE(other.take_due(now += 1ms));
  EXPECT_TRUE(other.take_due(now += 15s));
  EXPECT_FALSE(other.take_due(now + 1ms)) << "once after a pause";
}

TEST(Heartbeat, MayBeAsSlowAsTheStallTimeout) {
  EXPECT_EQ(longest_silence(30), 30s);
  EXPECT_EQ(longest_silence(0.5), 5s);
}

}  // namespace
}  // namespace partita
