// Programs compiled for a chip that is not there. They need a plugin: PARTITA_CUDA_PLUGIN names that of NVIDIA, with
// ptxas in its packages or in PATH, PARTITA_PJRT_PLUGIN one for CPUs (tools/xla/get_plugin.sh).

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace partita {
namespace {

Outcome run_compiler(std::vector<std::string> words, const std::string& plugin) {
  words.insert(words.begin(), "compile");
  return run_program(words, [&] { ::setenv("PARTITA_PJRT_PLUGIN", plugin.c_str(), 1); });
}

TEST(Compile, MemoryOfAStepOnAGpu) {
  const std::string plugin = plugin_in("PARTITA_CUDA_PLUGIN");
  if (plugin.empty()) GTEST_SKIP() << "no PARTITA_CUDA_PLUGIN";
  const TempDir folder;
  const Outcome outcome = run_compiler(
      {"mlp:layers=2,hidden=256", "--batch", "64", "--target", "h100", "--json", "--out", folder.path()}, plugin);
  ASSERT_EQ(outcome.exit_code, 0);
  const auto json = nlohmann::json::parse(outcome.output);
  ASSERT_EQ(json["programs"].size(), 2U);
  const auto& update = json["programs"][1];
  EXPECT_EQ(update["section"], "update");
  // Parameters and their momentum are updated where they are.
  EXPECT_GT(update["aliased"], 2 * 4 * 784 * 256);
  EXPECT_GE(update["arguments"], update["aliased"]);
  EXPECT_GT(json["sum"]["fused_kernels"], 0);
  for (const auto& program : json["programs"]) {
    EXPECT_NE(read_text(folder.path() / program["text"]).find("stablehlo."), std::string::npos);
    EXPECT_GT(std::filesystem::file_size(folder.path() / program["optimized"]), 1000U);
  }
}

TEST(Compile, FusedAttentionIsCallsOfCudnn) {
  const std::string plugin = plugin_in("PARTITA_CUDA_PLUGIN");
  if (plugin.empty()) GTEST_SKIP() << "no PARTITA_CUDA_PLUGIN";
  const auto of = [&](const std::string& attention) {
    const Outcome outcome =
        run_compiler({"gpt:layers=2,hidden=128,heads=2,seq=256,vocab=64", "--batch", "8", "--precision", "bf16",
                      "--target", "h100", "--json", "--attention", attention},
                     plugin);
    EXPECT_EQ(outcome.exit_code, 0);
    return nlohmann::json::parse(outcome.output)["sum"];
  };
  const auto composed = of("composed"), fused = of("fused");
  EXPECT_EQ(composed["library_calls"], 0);
  EXPECT_EQ(fused["library_calls"], 4) << "forward and backward of 2 layers, none of them twice";
  EXPECT_LT(fused["temporaries"], composed["temporaries"]);
}

TEST(Compile, StagesHaveProgramsOfTheirOwn) {
  const std::string plugin = plugin_in("PARTITA_CUDA_PLUGIN");
  if (plugin.empty()) GTEST_SKIP() << "no PARTITA_CUDA_PLUGIN";
  std::vector<std::string> words{
      "mlp:layers=2,hidden=16", "--ranks", "4", "--stages", "2", "--target", "h100", "--json"};
  const auto all = nlohmann::json::parse(run_compiler(words, plugin).output);
  words.insert(words.end(), {"--rank", "2"});
  const auto one = nlohmann::json::parse(run_compiler(words, plugin).output);
  EXPECT_GT(all["programs"].size(), one["programs"].size());
  for (const auto& program : one["programs"]) EXPECT_EQ(program["stage"], 1);
  EXPECT_GT(one["messages"], 0);
}

TEST(Compile, AnotherPluginIsRefused) {
  const std::string plugin = plugin_in("PARTITA_PJRT_PLUGIN");
  if (plugin.empty()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  expect_refusal({"compile", "mlp", "--target", "h100"}, ExitCode::usage,
                 {"[--target] h100 needs the plugin for cuda, got one that refuses it, expected that of pip install "
                  "'jax[cuda13]', or a later version: [device] ",
                  "the plugin does not know the topology, got code 12"});
  expect_refusal({"compile", "mlp", "--target", "v5e"}, ExitCode::usage,
                 {"[--target] v5e needs the plugin for tpu, got one that refuses it, expected that of pip install "
                  "libtpu, or a later version: "});
}

}  // namespace
}  // namespace partita
