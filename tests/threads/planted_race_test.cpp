// Races on purpose. They are in the library, so that these tests fail when src/CMakeLists.txt leaves it without the
// thread sanitizer. Part of thread_tests under that sanitizer alone.

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/comm/reduce_kernels.h"
#include "training/report/metrics.h"

namespace partita {
namespace {

constexpr int kSanitizerFailed = 66;  // the exit code of a process in which the sanitizer found something

/// Calls both functions, each on a thread of its own, and ends the process.
[[noreturn]] void run_both(const std::function<void()>& one, const std::function<void()>& other) {
  std::thread first(one), second(other);
  first.join();
  second.join();
  std::exit(0);
}

class PlantedRace : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(PlantedRace, IsFoundBetweenTwoReductionsIntoOneBuffer) {
  const auto reduce = [](std::vector<float>& result) {
    const std::vector<float> source(result.size(), 1);
    const void* sources[] = {source.data(), source.data()};
    void* results[] = {result.data()};
    reduce_elements(sources, results, 0, static_cast<int64_t>(result.size()), DType::f32, Reduce::sum);
  };
  std::vector<float> result(64);
  const auto call = [&] { reduce(result); };
  EXPECT_EXIT(run_both(call, call), testing::ExitedWithCode(kSanitizerFailed), "data race");
}

TEST_F(PlantedRace, IsFoundBetweenAMetricAndAWriterOfItsLogits) {
  std::vector<float> logits(64);
  const auto count = [&] { count_non_finite({.type = {DType::f32, {8, 8}}, .data = logits.data()}); };
  const auto write = [&] { logits.assign(logits.size(), 1); };
  EXPECT_EXIT(run_both(count, write), testing::ExitedWithCode(kSanitizerFailed), "data race");
}

}  // namespace
}  // namespace partita
