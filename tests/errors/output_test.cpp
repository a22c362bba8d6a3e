// Logs and streams that cannot be written: a run goes on and says so.

#include <fcntl.h>
#include <unistd.h>

#include "errors/program.h"

namespace partita {
namespace {

std::vector<std::string> train_to(const std::filesystem::path& weights, const std::vector<std::string>& more) {
  std::vector<std::string> words{"train", "mlp:hidden=4", "--steps", "3", "--per-print-times", "1", "--save",
                                 weights.string()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Expects that a training with these flags ends well, prints all, saves, and warns once, of `text`.
void expect_one_warning(const TempDir& folder, const std::vector<std::string>& flags, const std::string& text) {
  const std::filesystem::path weights = folder.path() / "weights";
  const Outcome outcome = run_program(train_to(weights, flags));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.lines.empty()) << outcome.lines[0];
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_TRUE(has_warning(outcome, text)) << outcome.warnings[0];
  EXPECT_NE(outcome.output.find("epoch: 1 step: 3, loss is"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("test accuracy"), std::string::npos) << outcome.output;
  EXPECT_TRUE(std::filesystem::exists(weights));
}

TEST(OutputErrors, AFullDiskUnderTheLog) {
  expect_one_warning(TempDir(), {"--log", "/dev/full"},
                     "[log] cannot write /dev/full: No space left on device; the training goes on without it");
}

TEST(OutputErrors, AFullDiskUnderTheLogsOfRanks) {
  const TempDir folder;
  std::filesystem::create_symlink("/dev/full", folder.path() / "rank_0.log");
  expect_one_warning(folder, {"--log-dir", folder.path().string()}, "rank_0.log: No space left on device; the run goes");
}

}  // namespace
}  // namespace partita
