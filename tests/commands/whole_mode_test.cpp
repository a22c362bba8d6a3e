// Commands whose programs have the collectives. They need a plugin for CPUs in PARTITA_PJRT_PLUGIN
// (tools/xla/get_plugin.sh).

#include <cstdlib>

#include "support/needs_plugin.h"
#include "support/program.h"

namespace partita {
namespace {

class WholeCommands : public NeedsPlugin {
 protected:
  Outcome run(const std::string& collectives, std::vector<std::string> words) {
    words.insert(words.end(), {"--device", "xla:cpu", "--collectives", collectives, "--quiet"});
    return run_program(words);
  }
};

// XLA would end the process for a flag that it does not know.
TEST_F(WholeCommands, FlagsOfXlaAreChecked) {
  const auto outcome_of = [](const char* flags) {
    return run_program({"train", "mlp:hidden=4", "--steps", "1", "--no-eval", "--quiet", "--device", "xla:cpu"},
                       [flags] { ::setenv("XLA_FLAGS", flags, 1); });
  };
  const Outcome refused = outcome_of("--xla_dump_to=/tmp --xla_cpu_enable_fst_math=true");
  EXPECT_EQ(refused.exit_code, static_cast<int>(ExitCode::usage));
  ASSERT_EQ(refused.lines.size(), 1u);
  EXPECT_NE(refused.lines[0].find("[device] XLA_FLAGS has a flag that the plugin does not know, got "
                                  "'--xla_cpu_enable_fst_math=true', expected a flag named in "),
            std::string::npos)
      << refused.lines[0];
  EXPECT_TRUE(refused.lines[0].ends_with(", did you mean 'xla_cpu_enable_fast_math'?")) << refused.lines[0];
  const Outcome passed = outcome_of("--xla_cpu_enable_fast_math=false");
  EXPECT_EQ(passed.exit_code, 0);
  EXPECT_TRUE(has_warning(passed, "[device] XLA_FLAGS goes to the plugin: --xla_cpu_enable_fast_math=false"));
}

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
