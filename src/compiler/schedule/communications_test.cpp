#include "compiler/schedule/communications.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

// Two buckets are started, one with kernels before its wait, and one is reduced at once.
TEST(Communications, ABucketIsExposedUnlessKernelsRunMeanwhile) {
  LocalGraph local;
  local.mesh = Mesh({{"data", 2}});
  Schedule schedule;
  schedule.buckets = {{.bytes = 100, .axes = {0}}, {.bytes = 20, .axes = {0}}, {.bytes = 3, .axes = {0}}};
  const auto bucket = [](Instruction::Kind kind, int index) { return Instruction{.kind = kind, .bucket = index}; };
  const Instruction kernel{.kind = Instruction::compute};
  schedule.instructions = {bucket(Instruction::start, 0),
                           kernel,
                           kernel,
                           bucket(Instruction::start, 1),
                           bucket(Instruction::wait, 0),
                           bucket(Instruction::wait, 1),
                           kernel,
                           bucket(Instruction::reduce, 2)};
  schedule.begins.fill(schedule.instructions.size());
  schedule.begins[0] = 0;
  const std::vector<Communication> found = communications_of(schedule, local);
  ASSERT_EQ(found.size(), 3);
  EXPECT_EQ(found[0].kernels, 2);
  EXPECT_EQ(found[0].bytes, 100);
  EXPECT_FALSE(found[0].is_exposed());
  EXPECT_TRUE(found[1].is_exposed());
  EXPECT_TRUE(found[2].is_exposed());
}

}  // namespace
}  // namespace partita
