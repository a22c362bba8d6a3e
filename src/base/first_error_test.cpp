#include "base/first_error.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace partita {
namespace {

TEST(FirstErrors, NothingIsThrownWithoutOne) {
  FirstError error;
  int runs = 0;
  error.run([&] { ++runs; });
  EXPECT_FALSE(error.is_kept());
  EXPECT_NO_THROW(error.rethrow());
  EXPECT_EQ(runs, 1);
}

TEST(FirstErrors, TheFirstIsKept) {
  FirstError error;
  error.run([] { throw std::out_of_range("first"); });
  EXPECT_TRUE(error.is_kept());
  error.run([] { throw std::logic_error("second"); });
  EXPECT_THROW(error.rethrow(), std::out_of_range);
  try {
    throw std::logic_error("third");
  } catch (...) {
    EXPECT_FALSE(error.keep());
  }
}

TEST(FirstErrors, ThreadsGiveThemToTheOneThatWaits) {
  FirstError error;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { error.run([] { throw std::out_of_range("of a thread"); }); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THROW(error.rethrow(), std::out_of_range);
}

}  // namespace
}  // namespace partita
