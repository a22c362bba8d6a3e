#include "base/passes.h"

#include <gtest/gtest.h>
#include <unistd.h>

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
  const int changed = passes.part(
      "double", [&] { return 2 * made; }, [](int) {}, print_number);
  EXPECT_EQ(verified, 7);
  EXPECT_EQ(changed, 14);
  ASSERT_EQ(passes.times().size(), 2u);
  EXPECT_EQ(passes.times()[0].name, "graph");
  EXPECT_EQ(passes.times()[1].name, "double");
}

const std::vector<PassName> kNamesOfPasses{{"graph"}, {"double", true}, {"halve", true}};

TEST(Passes, SwitchesOffByName) {
  const Passes passes{PassOptions{.dump_dir = "", .switched_off = {"double"}}};
  EXPECT_FALSE(passes.runs("double"));
  EXPECT_TRUE(passes.runs("halve"));
  EXPECT_NO_THROW(passes.check_switched_off(kNamesOfPasses));
}

/// Returns the message with which a pass is refused.
std::string refusal_of_pass(const std::string& name, const std::vector<PassName>& passes) {
  try {
    Passes(PassOptions{.dump_dir = "", .switched_off = {name}}).check_switched_off(passes);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Passes, RefusesUnknownNames) {
  EXPECT_EQ(refusal_of_pass("doubel", kNamesOfPasses),
            "[passes] unknown pass, got 'doubel', expected one of double halve, did you mean 'double'?");
  EXPECT_EQ(refusal_of_pass("double", {}), "[passes] unknown pass, got 'double', expected none");
}

TEST(Passes, RefusesNamesOfPassesThatAreNeeded) {
  EXPECT_EQ(refusal_of_pass("graph", kNamesOfPasses),
            "[passes] a pass that cannot be switched off, got 'graph', expected one of double halve");
}

TEST(Passes, DumpsNumberedFiles) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("partita_passes_test.{}", ::getpid()) / "deep";
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
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("partita_passes_part_test.{}", ::getpid());
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
