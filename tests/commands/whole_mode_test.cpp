// Commands whose programs have the collectives. They need a plugin for CPUs in PARTITA_PJRT_PLUGIN
// (tools/xla/get_plugin.sh).

#include <cstdlib>

#include "support/program.h"

namespace partita {
namespace {

class WholeCommands : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("PARTITA_PJRT_PLUGIN");
    if (path == nullptr || *path == '\0') GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  }

  Outcome run(const std::string& collectives, std::vector<std::string> words) {
    words.insert(words.end(), {"--device", "xla:cpu", "--collectives", collectives, "--quiet"});
    return run_program(words);
  }
};

// The rows that are left for the last batch of an evaluation rarely divide.
TEST_F(WholeCommands, EvaluationsOfUnevenRowsAreThoseOfCutMode) {
  const TempDir folder;
  const std::vector<std::string> train{"train", "mlp:hidden=8", "--steps", "2", "--ranks", "3", "--batch", "9"};
  const auto with = [&](const std::string& weights) {
    std::vector<std::string> words = train;
    words.insert(words.end(), {"--save", folder.path() / weights});
    return words;
  };
  EXPECT_EQ(run("whole", with("whole.safetensors")).exit_code, 0);
  EXPECT_EQ(run("cut", with("cut.safetensors")).exit_code, 0);
  const auto eval = [&](const std::string& collectives) {
    return run(collectives, {"eval", "mlp:hidden=8", "--ranks", "3", "--load", folder.path() / "cut.safetensors"});
  };
  const Outcome whole = eval("whole"), cut = eval("cut");
  EXPECT_EQ(whole.exit_code, 0);
  EXPECT_EQ(whole.output, cut.output);
}

}  // namespace
}  // namespace partita
