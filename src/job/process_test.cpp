#include "job/process.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <iterator>

#include "frontend/data/readers/test_files.h"
#include "training/test_printed.h"

namespace partita {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The process itself decides whether it prints.
TEST(JobProcess, ConsoleRanksDecideWhichProcessesPrint) {
  for (const ConsoleRanks ranks : {ConsoleRanks::first, ConsoleRanks::all}) {
    for (const int rank : {0, 1}) {
      const Printed printed;
      JobConfig config;
      config.console.ranks = ranks;
      const JobProcess process(config, Place{.launched = LaunchedRank{.rank = rank, .size = 2}});
      std::cout << "heard" << std::flush;
      EXPECT_EQ(printed.text() == "heard", rank == 0 || ranks == ConsoleRanks::all);
    }
  }
}

TEST(JobProcess, ConsolesMayEndInAnyOrder) {
  const TempDir folder;
  const Printed printed;
  JobConfig config;
  config.files.log_dir = (folder.path() / "one").string();
  std::optional<JobProcess> one(std::in_place, config, Place{});
  config.files.log_dir = (folder.path() / "two").string();
  std::optional<JobProcess> two(std::in_place, config, Place{});
  std::cout << "both" << std::flush;
  one.reset();
  std::cout << ", two" << std::flush;
  two.reset();
  std::cout << ", none" << std::flush;
  EXPECT_EQ(printed.text(), "both, two, none");
  EXPECT_EQ(text_of(folder.path() / "one" / "rank_0.log"), "both");
  EXPECT_EQ(text_of(folder.path() / "two" / "rank_0.log"), "both, two");
}

}  // namespace
}  // namespace partita
