// Trainings on files of token ids.

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "frontend/data/readers/test_token_files.h"
#include "support/program.h"

namespace partita {
namespace {

/// Returns the losses of a log of steps by step.
std::map<int64_t, double> losses_in(const std::filesystem::path& log) {
  std::map<int64_t, double> losses;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json step = nlohmann::json::parse(line);
    if (step.contains("step") && step.contains("loss")) losses[step["step"]] = step["loss"];
  }
  return losses;
}

// An epoch has 17 steps. The training is stopped in the middle of the second one, and goes on on another number of
// ranks.
TEST(Tokens, GoOnInTheMiddleOfAnEpochOnOtherRanks) {
  const TempDir folder;
  std::vector<std::vector<int32_t>> documents;
  for (int32_t d = 0; d < 200; ++d) {
    documents.emplace_back();
    for (int32_t i = 0; i < d * 7 % 23; ++i) documents.back().push_back((d * 31 + i * 7) % 100);
  }
  const std::string data = "tokens:" + write_indexed<uint16_t>(folder, "m", documents).string();
  const auto train = [&](const std::string& ranks, const std::string& steps, const std::string& name,
                         const std::vector<std::string>& more) {
    const std::filesystem::path log = folder.path() / (name + ".jsonl");
    std::vector<std::string> words{"train", "gpt:layers=1,hidden=16,heads=2,seq=16,vocab=100"};
    words.insert(words.end(), {"--data", data, "--batch", "8", "--ranks", ranks, "--threads", "1", "--steps", steps});
    words.insert(words.end(), {"--schedule-steps", "40", "--no-eval", "--log", log.string()});
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    return losses_in(log);
  };
  const std::string run = (folder.path() / "run").string();
  const std::map<int64_t, double> whole = train("1", "30", "whole", {});
  train("2", "21", "first", {"--checkpoint", run});
  const std::map<int64_t, double> rest = train("4", "30", "rest", {"--resume", run});
  ASSERT_EQ(rest.size(), 9U);
  for (const auto& [step, loss] : rest) EXPECT_NEAR(loss, whole.at(step), 1e-4) << step;
  // Losses of neighbouring steps differ by more, so other rows would be seen.
  EXPECT_GT(std::abs(whole.at(23) - whole.at(24)), 1e-3);
}

}  // namespace
}  // namespace partita
