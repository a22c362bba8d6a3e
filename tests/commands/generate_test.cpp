// Texts that `partita generate` writes.

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/program.h"

namespace partita {
namespace {

using GenerateWords = std::vector<std::string>;

const std::string kGenerator = "llama:layers=2,hidden=16,heads=4,kv_heads=2,seq=16";

/// A folder with the weights of a model.
class Generate : public testing::Test {
 protected:
  Generate() : weights_((folder_.path() / "w").string()) {
    EXPECT_EQ(
        run_program({"train", kGenerator, "--steps", "2", "--batch", "4", "--no-eval", "--save", weights_}).exit_code,
        0);
  }

  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
    return (folder_.path() / name).string();
  }
  std::string generated(const GenerateWords& more) const {
    GenerateWords words{"generate", kGenerator,  "--load", weights_,  "--length",
                        "30",       "--threads", "1",      "--dtype", "f64"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    return outcome.output;
  }

  TempDir folder_;
  std::string weights_;
};

TEST_F(Generate, WritesTheSameTextOnRanksAndWithoutACache) {
  const GenerateWords prompt{"--prompt", "to be or not to be, that is"};
  const std::string text = generated(prompt);
  ASSERT_EQ(text.find(prompt[1]), 0u);
  ASSERT_GT(text.size(), prompt[1].size() + 10);
  for (const GenerateWords& more : {GenerateWords{"--no-cache"},
                                    {"--ranks", "2"},
                                    {"--ranks", "2", "--stages", "2"},
                                    {"--ranks", "4", "--parallel", "auto", "--tensor-parallel", "2"}}) {
    GenerateWords words = prompt;
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(generated(words), text) << fmt::format("{}", fmt::join(more, " "));
  }
}

TEST_F(Generate, WritesALineForEachPromptOfAFile) {
  const std::string lines = written("p.txt", "\xEF\xBB\xBFto be\n\nor not to be, that is the question\r\nx\n");
  const std::string objects =
      written("p.jsonl",
              "{\"prompt\": \"to be\"}\n{\"prompt\": \"or not to be, that is the question\", \"more\": 1}\n\n"
              "{\"prompt\": \"x\"}\n");
  const std::string output = generated({"--prompts", lines});
  EXPECT_EQ(generated({"--prompts", objects}), output);
  EXPECT_EQ(generated({"--prompts", lines, "--ranks", "3"}), output);
  std::vector<nlohmann::json> all;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) all.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].at("prompt"), "or not to be, that is the question");
  EXPECT_EQ(all[2].at("prompt"), "x");
  // A prompt's draws do not depend on the others.
  EXPECT_EQ(generated({"--prompts", written("one.txt", "to be\n")}), output.substr(0, output.find('\n') + 1));
}

TEST_F(Generate, EndsWhenNobodyTakesItsText) {
  GenerateWords words{"generate", kGenerator, "--load", weights_, "--length", "1000000", "--threads", "1"};
  for (const GenerateWords& more : {GenerateWords{"--prompt", "to be"}, {"--prompt", "to be", "--ranks", "2"}}) {
    GenerateWords all = words;
    all.insert(all.end(), more.begin(), more.end());
    const Outcome outcome = run_program(all, [] { ::close(1), ::open("/dev/full", O_WRONLY); });
    EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::cannot_write));
  }
}

TEST_F(Generate, WritesNothingBeforeTheWeightsAreRead) {
  const Outcome outcome = run_program({"generate", kGenerator, "--load", weights_ + "none", "--prompt", "to be"});
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::missing_file));
  EXPECT_EQ(outcome.output, "");
}

TEST_F(Generate, WritesOneTextOfSeveralProcesses) {
  const GenerateWords job{"generate", kGenerator, "--load", weights_,  "--length", "20",      "--threads",
                          "1",        "--prompt", "to be",  "--ranks", "2",        "--dtype", "f64"};
  GenerateWords words{"launch", "-n", "2", "--"};
  words.insert(words.end(), job.begin(), job.end());
  const Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
  EXPECT_EQ(outcome.output, run_program(job).output);
}

}  // namespace
}  // namespace partita
