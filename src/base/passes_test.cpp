#include "base/passes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace partita {
namespace {

std::string print_number(int value) { return std::to_string(value) + "\n"; }

TEST(Passes, RunsVerifiesAndTimesInOrder) {
  Passes passes{PassOptions{}};
  int verified = 0;
  const int made = passes.stage(
      "graph", [] { return 7; }, [&](int value) { verified = value; }, print_number);
  const int changed = passes.optional("double", made, [](int value) { return 2 * value; });
  EXPECT_EQ(verified, 7);
  EXPECT_EQ(changed, 14);
  ASSERT_EQ(passes.times().size(), 2u);
  EXPECT_EQ(passes.times()[0].name, "graph");
  EXPECT_EQ(passes.times()[1].name, "double");
}

TEST(Passes, SwitchesOffByName) {
  Passes passes{PassOptions{.dump_dir = "", .switched_off = {"double"}}};
  EXPECT_EQ(passes.optional("double", 7, [](int value) { return 2 * value; }), 7);
  EXPECT_NO_THROW(passes.check_names());
}

TEST(Passes, RefusesUnknownNames) {
  Passes passes{PassOptions{.dump_dir = "", .switched_off = {"doubel"}}};
  passes.optional("double", 7, [](int value) { return value; });
  try {
    passes.check_names();
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "[passes] no such pass, got 'doubel', expected one of double, did you mean 'double'?");
  }
}

TEST(Passes, DumpsNumberedFiles) {
  const auto folder = std::filesystem::temp_directory_path() / "partita_passes_test" / "deep";
  std::filesystem::remove_all(folder.parent_path());
  Passes passes{PassOptions{.dump_dir = folder.string(), .switched_off = {}}};
  passes.stage(
      "graph", [] { return 7; }, [](int) {}, print_number);
  passes.stage(
      "plan", [] { return 8; }, [](int) {}, print_number);
  std::stringstream text;
  text << std::ifstream(folder / "2_plan.txt").rdbuf();
  EXPECT_EQ(text.str(), "8\n");
  EXPECT_TRUE(std::filesystem::exists(folder / "1_graph.txt"));
  std::filesystem::remove_all(folder.parent_path());
}

TEST(Passes, PartsHaveTheNumberOfTheirStage) {
  const auto folder = std::filesystem::temp_directory_path() / "partita_passes_part_test";
  std::filesystem::remove_all(folder);
  Passes passes{PassOptions{.dump_dir = folder.string(), .switched_off = {}}};
  int verified = 0;
  const auto verify = [&](int value) { verified += value; };
  passes.stage(
      "graph", [] { return 7; }, verify, print_number);
  EXPECT_EQ(passes.part(
                "reshard", [] { return 8; }, verify, print_number),
            8);
  passes.stage(
      "partition", [] { return 9; }, verify, print_number);
  EXPECT_EQ(verified, 24);
  for (const char* name : {"1_graph.txt", "2_reshard.txt", "2_partition.txt"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  }
  std::vector<std::string> timed;
  for (const PassTime& pass : passes.times()) timed.push_back(pass.name);
  EXPECT_EQ(timed, (std::vector<std::string>{"graph", "reshard", "partition"}));
  std::filesystem::remove_all(folder);
}

TEST(Passes, AnUnwritableFolderIsExit73) {
  Passes passes{PassOptions{.dump_dir = "/dev/null/x", .switched_off = {}}};
  try {
    passes.stage(
        "graph", [] { return 7; }, [](int) {}, print_number);
    FAIL();
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), ExitCode::cannot_write);
  }
}

}  // namespace
}  // namespace partita
