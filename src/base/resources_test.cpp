#include "base/resources.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"

namespace partita {
namespace {

template <class Fn>
std::string shortage(Fn&& fn) {
  try {
    fn();
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), ExitCode::out_of_memory);
    return error.what();
  }
  return "";
}

TEST(Reservation, SaysWhatIsOutOfMemory) {
  EXPECT_EQ(shortage([] { const Reservation room("kernels"); }), "");
  const std::string text = shortage([] { const Reservation room("kernels", size_t{1} << 60); });
  EXPECT_EQ(text.find("[memory] out of memory for kernels, got less than"), 0u) << text;
  EXPECT_EQ(shortage([] { const Reservation room("kernels"); }), "") << "one that failed is not held";
}

TEST(Reservation, OneAtATime) {
  std::atomic<int> held{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const Reservation room("a test");
        EXPECT_EQ(held.fetch_add(1), 0);
        held.fetch_sub(1);
      }
    });
  }
}

TEST(WaitingThreads, AreStartedOrTheErrorSaysHowMany) {
  { const WaitingThreads none(0, "nothing"); }
  { const WaitingThreads some(20, "a test"); }
  const std::string text = shortage([] { const WaitingThreads huge(3, "a test", size_t{1} << 60); });
  EXPECT_EQ(text.find("[threads] cannot start 3 threads (a test), got '"), 0u) << text;
  EXPECT_NE(text.find(" after 0', expected fewer ranks or threads"), std::string::npos) << text;
}

TEST(StartThread, RunsItsBody) {
  std::atomic<int> value{0};
  start_thread("a test", [&] { value = 7; }).join();
  EXPECT_EQ(value, 7);
  std::jthread stopped = start_thread("a test", [&](std::stop_token stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
    value = 8;
  });
  stopped.request_stop();
  stopped.join();
  EXPECT_EQ(value, 8);
}

}  // namespace
}  // namespace partita
