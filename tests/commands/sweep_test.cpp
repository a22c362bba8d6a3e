// Sweeps run all their trials, also after failures and interruptions.

#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

std::vector<nlohmann::json> trials_in(const std::filesystem::path& folder) {
  std::istringstream lines(read_text(folder / "trials.jsonl"));
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

TEST(Sweep, AFailedTrialIsRecordedAndFinishedOnesAreNotRepeated) {
  const TempDir folder;
  const auto out = folder.path() / "out";
  const std::string file = (folder.path() / "sweep.toml").string();
  // A batch of 100,000 has more rows than there are.
  const std::string head =
      "model = \"mlp:hidden=8\"\nmetric = \"validation_loss\"\n[fixed]\ntraining.steps = 3\n"
      "ranks.threads = 1\n[keys]\n";
  write_text(file, head + "training.batch = [16, 100000, 32]\n");
  const Outcome first = run_program({"sweep", file, "--out", out.string()});
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_NE(first.output.find("trial 2 of 3: batch 100000: failed: [train] too few rows"), std::string::npos)
      << first.output;
  std::vector<nlohmann::json> trials = trials_in(out);
  ASSERT_EQ(trials.size(), 4U);  // after the line of the sweep
  EXPECT_EQ(trials[1].at("status"), "done");
  EXPECT_GT(trials[1].at("validation_loss"), 0);
  EXPECT_EQ(trials[2].at("status"), "failed");
  EXPECT_EQ(trials[2].at("exit_code"), 64);
  EXPECT_TRUE(std::filesystem::exists(out / "sweep.html"));
  EXPECT_TRUE(std::filesystem::exists(out / trials[1].at("run").get<std::string>() / "log.jsonl"));

  write_text(file, head + "training.batch = [16, 100000, 32, 64]\n");  // one more
  const Outcome second = run_program({"sweep", file, "--out", out.string()});
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_NE(second.output.find("3 of 4 trials are finished already"), std::string::npos) << second.output;
  EXPECT_EQ(second.output.find("trial 1 of 4"), std::string::npos) << second.output;
  EXPECT_EQ(trials_in(out).size(), 5U);
  const Outcome retried = run_program({"sweep", file, "--out", out.string(), "--retry-failed"});
  EXPECT_NE(retried.output.find("trial 2 of 4: batch 100000: failed"), std::string::npos) << retried.output;
  EXPECT_EQ(trials_in(out).size(), 6U);

  std::string other = head;
  other.replace(other.find("steps = 3"), 9, "steps = 4");
  write_text(file, other + "training.batch = [16]\n");
  expect_refusal({"sweep", file, "--out", out.string()}, ExitCode::usage, {"holds trials of another sweep"});
  EXPECT_EQ(trials_in(out).size(), 6U);
}

TEST(Sweep, AnInterruptedTrialIsRepeated) {
  const TempDir folder;
  const auto out = folder.path() / "out";
  const std::string file = (folder.path() / "sweep.toml").string();
  write_text(file,
             "model = \"mlp:hidden=8\"\n[fixed]\nranks.threads = 1\ntraining.steps = 20000\n"
             "training.evaluate = false\n[keys]\ntraining.seed = { seeds = 2 }\n");
  const Outcome stopped = run_command({"timeout", "--signal=INT", "1", kProgram, "sweep", file, "--out", out.string()});
  EXPECT_TRUE(stopped.exit_code == 124 || stopped.exit_code == 130) << stopped.exit_code;
  if (!stopped.lines.empty()) {
    EXPECT_NE(stopped.lines[0].find("[sweep] interrupted, got SIGINT"), std::string::npos) << stopped.lines[0];
  }
  const size_t before = trials_in(out).size();
  EXPECT_LT(before, 3U);
  const Outcome again = run_program({"sweep", file, "--out", out.string()});
  EXPECT_EQ(again.exit_code, 0);
  const std::vector<nlohmann::json> trials = trials_in(out);
  ASSERT_EQ(trials.size(), 3U);
  for (size_t i = 1; i < trials.size(); ++i) EXPECT_EQ(trials[i].at("status"), "done");
}

TEST(Sweep, ListsTrialsAndRunsNone) {
  const TempDir folder;
  const std::string file = (folder.path() / "sweep.toml").string();
  write_text(file, "model = \"mlp\"\n[keys]\ntraining.batch = [16, 32]\n");
  EXPECT_EQ(run_program({"sweep", file, "--list"}).output, "batch 16\nbatch 32\n");
}

}  // namespace
}  // namespace partita
