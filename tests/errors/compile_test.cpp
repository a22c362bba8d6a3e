// Refusals of `partita compile` that need no plugin.

#include <cstdlib>
#include <fstream>

#include "frontend/data/readers/test_files.h"
#include "support/program.h"

namespace partita {
namespace {

/// Expects a refusal where no plugin can be found, or `plugin` is named as one.
void compile_refused(std::vector<std::string> more, const std::string& message, ExitCode code = ExitCode::usage,
                     const std::string& plugin = "/nowhere/plugin.so") {
  more.insert(more.begin(), {"compile", "mlp"});
  const char* before = std::getenv("PARTITA_PJRT_PLUGIN");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("PARTITA_PJRT_PLUGIN", plugin.c_str(), 1);
  expect_refusal(more, code, {message});
  if (before != nullptr) {
    ::setenv("PARTITA_PJRT_PLUGIN", kept.c_str(), 1);
  } else {
    ::unsetenv("PARTITA_PJRT_PLUGIN");
  }
}

TEST(CompileErrors, Targets) {
  compile_refused({"--target", "h10"},
                  "[--target] unknown chip, got 'h10', expected one of a100-40 a100-80 h100 h200 b200 v5e v5p v6e, did "
                  "you mean 'h100'?");
  compile_refused({}, "[compile] --target is required");
  compile_refused({"--target", ""}, "[--target] empty, got '', expected a value");
}

TEST(CompileErrors, Ranks) {
  compile_refused({"--target", "h100", "--ranks", "2", "--rank", "2"}, "[--rank] out of range, got 2, expected 0 to 1");
  compile_refused({"--target", "h100", "--rank", "-1"}, "[--rank] out of range, got -1, expected 0 to 0");
  compile_refused({"--target", "h100", "--rank", "x"}, "[--rank] not a number, got 'x', expected a whole number");
}

TEST(CompileErrors, DeterministicNeedsADevice) {
  const TempDir folder;
  const std::string config = folder.path() / "config.toml";
  std::ofstream(config) << "[ranks]\ndeterministic = true\n";
  const Outcome outcome = run_program({"compile", "mlp", "--target", "h100", "--config", config, "--print-config"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(
      has_warning(outcome, "[compile] ranks.deterministic has no effect without a device, got true, expected none"));
}

TEST(CompileErrors, Plugins) {
  compile_refused({"--target", "h100"},
                  "[device] no PJRT plugin, got /nowhere/plugin.so: cannot open shared object file");
  compile_refused({"--target", "v5e"}, "[device] no PJRT plugin, got libm.so.6 without GetPjrtApi", ExitCode::usage,
                  "libm.so.6");
  compile_refused({"--target", "h100", "--device", "cuda"}, "[compile] unknown flag, got '--device'");
  compile_refused(
      {"--target", "v5e", "--attention", "fused"},
      "[--attention] fused attention is that of cuDNN, got fused on tpu, expected composed, or a GPU of NVIDIA");
}

// Runs if PARTITA_PJRT_PLUGIN names a plugin for CPUs (tools/xla/get_plugin.sh).
TEST(CompileErrors, APluginForOtherDevices) {
  const char* path = std::getenv("PARTITA_PJRT_PLUGIN");
  if (path == nullptr || *path == '\0') GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  expect_refusal({"train", "mlp", "--device", "tpu", "--steps", "1"}, ExitCode::usage,
                 {std::string("[device] a plugin for other devices, got ") + path + " for cpu, expected one for tpu"});
}

}  // namespace
}  // namespace partita
