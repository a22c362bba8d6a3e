// The group that takes most, without compiling those that cannot.

#include "planner/compiled/largest_group.h"

#include <gtest/gtest.h>

#include <random>

namespace partita {
namespace {

std::vector<StageMemory> memory_of(const std::vector<double>& bytes) {
  std::vector<StageMemory> all;
  for (const double one : bytes) all.push_back({.activations = one});
  return all;
}

/// The memory of the largest group, and the groups that were compiled.
std::pair<CompiledMemory, std::vector<size_t>> largest(const std::vector<double>& planned,
                                                       const std::vector<double>& compiled) {
  std::vector<size_t> groups;
  const CompiledMemory most = largest_of_groups(memory_of(planned), [&](size_t group) {
    groups.push_back(group);
    return CompiledMemory{.temporaries = compiled[group]};
  });
  return {most, groups};
}

TEST(LargestGroup, IsCompiledAlone) {
  const auto [most, groups] = largest({5, 9, 9, 3}, {6, 10, 10, 4});
  EXPECT_EQ(groups, (std::vector<size_t>{1})) << "others are smaller, as far as estimates tell";
  EXPECT_EQ(most.bytes(), 10);
  EXPECT_EQ(most.planned, 9);
}

TEST(LargestGroup, IsLookedForWhereEstimatesAreTooHigh) {
  const auto [most, groups] = largest({10, 8, 4}, {6, 9, 4});
  EXPECT_EQ(groups, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(most.bytes(), 9);
  EXPECT_EQ(most.planned, 8);
}

TEST(LargestGroup, ExceedsAllWhoseEstimatesAreNoWorse) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> size(1, 10), factor(0.5, 2);
  for (int round = 0; round < 1000; ++round) {
    std::vector<double> planned(1 + random() % 8), compiled;
    for (double& one : planned) compiled.push_back((one = size(random)) * factor(random));
    const auto [most, groups] = largest(planned, compiled);
    double excess = 1;
    for (const size_t group : groups) excess = std::max(excess, compiled[group] / planned[group]);
    for (size_t group = 0; group < planned.size(); ++group) {
      if (compiled[group] <= planned[group] * excess) EXPECT_GE(most.bytes(), compiled[group]) << round;
    }
  }
}

TEST(LargestGroup, OfSchedulesIsMeasured) {
  const CompiledMemory most =
      largest_of_schedules(memory_of({9, 5}), {{.parameters = 1}, {.parameters = 3, .activations = 4}});
  EXPECT_EQ(most.bytes(), 7);
  EXPECT_EQ(most.planned, 5);
  EXPECT_EQ(most.states, 3);
}

}  // namespace
}  // namespace partita
