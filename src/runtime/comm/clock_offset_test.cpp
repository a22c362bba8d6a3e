#include "runtime/comm/clock_offset.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "runtime/comm/run_ranks.h"

namespace partita {
namespace {

int64_t true_time() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Clocks that are seconds apart.
TEST(ClockOffset, IsFoundWithinItsError) {
  constexpr int64_t kSecond = 1'000'000'000;
  std::atomic<int> wrong = 0;
  run_ranks(4, [&](Communicator& comm) {
    const int64_t skew = (comm.rank() - 2) * 7 * kSecond + comm.rank();
    const int64_t first_skew = -2 * 7 * kSecond;
    const ClockOffset found = clock_offset(comm, [&] { return true_time() + skew; });
    if (std::abs(found.offset - (first_skew - skew)) > found.error) ++wrong;
    if (comm.rank() == 0 && (found.offset != 0 || found.error != 0)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ClockOffset, ADriftIsALine) {
  const ClockOffset first{.at = 1000, .offset = 50}, last{.at = 3000, .offset = 150};
  EXPECT_EQ(aligned_time(1000, first, last), 1050);
  EXPECT_EQ(aligned_time(2000, first, last), 2100);
  EXPECT_EQ(aligned_time(3000, first, last), 3150);
  EXPECT_EQ(aligned_time(5000, first, first), 5050);
}

}  // namespace
}  // namespace partita
