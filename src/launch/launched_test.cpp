#include "launch/launched.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace partita {
namespace {

std::optional<LaunchedRank> from(const std::map<std::string, std::string>& environment) {
  return launched_rank([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launched, Alone) {
  EXPECT_FALSE(from({}));
  EXPECT_FALSE(from({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})) << "a batch script";
  EXPECT_FALSE(from({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
}

TEST(Launched, ByMpirun) {
  const auto rank = from({{"OMPI_COMM_WORLD_RANK", "5"},
                          {"OMPI_COMM_WORLD_SIZE", "8"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 5);
  EXPECT_EQ(rank->size, 8);
  EXPECT_EQ(rank->local_rank, 1);
  EXPECT_EQ(rank->local_size, 4);
  EXPECT_EQ(rank->launcher, "mpirun");
}

TEST(Launched, BySrun) {
  const auto rank = from({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "1"}});
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 3);
  EXPECT_EQ(rank->size, 4);
  EXPECT_EQ(rank->local_rank, 1);
  EXPECT_EQ(rank->launcher, "srun");
  const auto pmix = from({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "2"}});
  EXPECT_EQ(pmix->rank, 2);
  for (const auto& [host, tasks] : {std::pair("0", 4), std::pair("1", 4), std::pair("2", 3), std::pair("3", 1)}) {
    const auto here = from({{"SLURM_PROCID", "3"},
                            {"SLURM_STEP_NUM_TASKS", "11"},
                            {"SLURM_NODEID", host},
                            {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}});
    EXPECT_EQ(here->local_size, tasks) << host;
  }
}

TEST(Launched, RefusesNonsense) {
  EXPECT_THROW(from({{"OMPI_COMM_WORLD_RANK", "8"}, {"OMPI_COMM_WORLD_SIZE", "8"}}), InvalidArgument);
  EXPECT_THROW(from({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "8"}}), InvalidArgument);
  EXPECT_THROW(from({{"OMPI_COMM_WORLD_SIZE", "-1"}}), InvalidArgument);
}

}  // namespace
}  // namespace partita
