#include "runtime/checkpoint/background_writer.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace partita {
namespace {

TEST(BackgroundWriter, RunsJobsOneAfterTheOther) {
  std::vector<int> done;
  BackgroundWriter writer;
  for (int i = 0; i < 4; ++i) writer.write([&done, i] { done.push_back(i); }, /*background=*/i != 2);
  writer.finish();
  EXPECT_EQ(done, (std::vector{0, 1, 2, 3}));
  writer.finish();
}

TEST(BackgroundWriter, TellsErrorsWithTheNextCall) {
  BackgroundWriter writer;
  const auto fail = [] { throw std::runtime_error("disk"); };
  EXPECT_THROW(writer.write(fail, /*background=*/false), std::runtime_error);
  writer.write(fail, /*background=*/true);
  EXPECT_THROW(writer.write([] {}, /*background=*/true), std::runtime_error);
  writer.write(fail, /*background=*/true);
  EXPECT_THROW(writer.finish(), std::runtime_error);
  writer.finish();
}

}  // namespace
}  // namespace partita
