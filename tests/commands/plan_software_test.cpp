// Plans say whose programs they price. --check compiles those programs: on clusters of processors here, for chips by
// their plugin. PARTITA_CUDA_PLUGIN names that of NVIDIA, PARTITA_PJRT_PLUGIN one for CPUs, which knows no chips.

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace partita {
namespace {

using PricedWords = std::vector<std::string>;

constexpr const char* kPricedNetwork = "gpt:layers=4,hidden=64,heads=4,seq=32,vocab=64";

PricedWords words_of_plan(const PricedWords& more) {
  PricedWords words{"plan", kPricedNetwork, "--batch", "8"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string text_of_plan(const PricedWords& more, const std::string& plugin = "") {
  const Outcome outcome = run_program(words_of_plan(more), [&] {
    if (!plugin.empty()) ::setenv("PARTITA_PJRT_PLUGIN", plugin.c_str(), 1);
  });
  EXPECT_EQ(outcome.exit_code, 0) << (outcome.lines.empty() ? "" : outcome.lines[0]);
  return outcome.output;
}

nlohmann::json json_of_plan(PricedWords more, const std::string& plugin = "") {
  more.push_back("--json");
  return nlohmann::json::parse(text_of_plan(more, plugin));
}

TEST(PlanSoftware, IsNamedWithItsYears) {
  for (const auto& [cluster, name, line] :
       {std::tuple("h100", "megatron-core", "\nsoftware       megatron-core of 2024, 10 fitted constants\n"),
        std::tuple("h100@partita", "partita", "\nsoftware       partita, 9 fitted constants\n"),
        std::tuple("H100@PARTITA", "partita", "\nsoftware       partita, 9 fitted constants\n"),
        std::tuple("cpu", "partita", "\nsoftware       partita\n")}) {
    SCOPED_TRACE(cluster);
    const nlohmann::json json = json_of_plan({"--cluster", cluster});
    EXPECT_EQ(json.at("software"), name);
    EXPECT_EQ(json.at("software_years"), json.at("software") == "partita" ? "" : "2024");
    const std::string text = text_of_plan({"--cluster", cluster});
    const size_t at = text.find(line);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_LE(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'), 4) << text;
  }
}

TEST(PlanSoftware, ATargetPricesThisLibrary) {
  const nlohmann::json target = json_of_plan({"--target", "h100:2", "--dtype", "bf16"});
  EXPECT_EQ(target.at("software"), "partita");
  nlohmann::json cluster = json_of_plan({"--cluster", "h100:2@partita", "--dtype", "bf16"});
  for (const char* key : {"step_seconds", "peak_memory_bytes", "plan", "software"})
    EXPECT_EQ(target.at(key), cluster.at(key)) << key;
  EXPECT_EQ(json_of_plan({"--target", "h100:2@megatron-core"}).at("software"), "megatron-core");
}

/// The text of `partita plan --out` for a cluster.
std::string plan_for(const std::string& cluster, const TempDir& folder) {
  const std::string path = folder.path() / "plan.txt";
  text_of_plan({"--cluster", cluster, "--fixed", "data=2,micro_batch=4", "--out", path});
  return path;
}

TEST(PlanSoftware, IsInThePlanAndOnItsPage) {
  const TempDir folder;
  const std::string page = folder.path() / "page.html";
  text_of_plan({"--cluster", "h100", "--html", page});
  EXPECT_NE(read_text(page).find("megatron-core of 2024"), std::string::npos);
  EXPECT_NE(read_text(plan_for("h100", folder)).find("\nsoftware megatron-core\n"), std::string::npos);
}

TEST(PlanSoftware, IsPricedAgainAlike) {
  const TempDir folder;
  const std::string path = folder.path() / "plan.txt";
  for (const PricedWords& how : {PricedWords{"--tf32", "false"}, PricedWords{"--dtype", "bf16"},
                                 PricedWords{"--dtype", "bf16", "--reduce-dtype", "bf16"}}) {
    PricedWords words{"--target", "h100", "--fixed", "data=8,micro_batch=1", "--out", path};
    words.insert(words.end(), how.begin(), how.end());
    const std::string text = text_of_plan(words), step = text.substr(text.find("\nstep "), 40);
    EXPECT_NE(run_program({"explain", path}).output.find(step), std::string::npos) << step;
  }
}

TEST(PlanSoftware, AnotherOneIsToldToTrainings) {
  const TempDir folder;
  const auto warnings_of = [](const std::string& path) {
    const Outcome outcome = run_program({"train", "--plan", path, "--steps", "1"});
    EXPECT_EQ(outcome.exit_code, 0) << (outcome.lines.empty() ? "" : outcome.lines[0]);
    std::string all;
    for (const std::string& warning : outcome.warnings) all += warning + "\n";
    return all;
  };
  EXPECT_EQ(warnings_of(plan_for("cpu", folder)).find("other software"), std::string::npos);
  EXPECT_EQ(warnings_of(plan_for("h100@partita", folder)).find("other software"), std::string::npos);
  const std::string path = plan_for("h100:2", folder);
  const std::string told = warnings_of(path);
  EXPECT_NE(told.find("the plan predicts the time and the memory of other software, got megatron-core, expected "
                      "partita; for this library: partita plan gpt:"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find(" --cluster h100:2@partita --batch 8 --dtype f32 --fixed data=2,micro_batch=4"),
            std::string::npos)
      << told;
  // A plan without the line, as older ones are, names its software by the cluster.
  std::string text = read_text(path);
  text.erase(text.find("software megatron-core\n"), std::string("software megatron-core\n").size());
  write_text(path, text);
  EXPECT_NE(warnings_of(path).find("got megatron-core, expected partita"), std::string::npos);
}

TEST(CheckedPlan, OnProcessorsComparesTheEstimate) {
  const PricedWords words{"--cluster", "cpu", "--fixed", "data=2,micro_batch=2,zero=2", "--check"};
  const nlohmann::json memory = json_of_plan(words).at("compiled_memory");
  EXPECT_EQ(memory.at("compiler"), "the schedule");
  const auto planned = memory.at("planned_bytes").get<double>(), bytes = memory.at("bytes").get<double>();
  EXPECT_NEAR(bytes / planned, 1, 0.1);
  EXPECT_NE(text_of_plan(words).find("\ncompiled       "), std::string::npos);
  EXPECT_TRUE(json_of_plan({"--cluster", "cpu"}).at("compiled_memory").is_null());
}

TEST(CheckedPlan, NeedsAChipAndItsPlugin) {
  expect_refusal(words_of_plan({"--cluster", "v100", "--check"}), ExitCode::usage,
                 {"[--check] no programs are compiled for these devices, got v100, expected one of ", " h100"});
  for (const auto& [flag, value] : {std::pair("--collectives", "whole"), std::pair("--attention", "fused")}) {
    expect_refusal(words_of_plan({"--target", "h100", flag, value}), ExitCode::usage,
                   {fmt::format("[{}] has no effect, got {} without --check, expected both", flag, value)});
  }
  if (plugin_in("PARTITA_PJRT_PLUGIN").empty()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  expect_refusal(words_of_plan({"--target", "h100", "--check"}), ExitCode::usage,
                 {"[--target] h100 needs the plugin for cuda, got one that refuses it"});
}

TEST(CheckedPlan, OnAChipIsWhatThePlanCompilesTo) {
  const std::string plugin = plugin_in("PARTITA_CUDA_PLUGIN");
  if (plugin.empty()) GTEST_SKIP() << "no PARTITA_CUDA_PLUGIN";
  const TempDir folder;
  const std::string path = folder.path() / "plan.txt";
  for (const char* fixed : {"data=1,micro_batch=8", "data=2,micro_batch=2,zero=2", "data=1,pipeline=2,micro_batch=2"}) {
    SCOPED_TRACE(fixed);
    const nlohmann::json memory =
        json_of_plan({"--target", "H100", "--fixed", fixed, "--check", "--out", path}, plugin);
    const Outcome compiled = run_program({"compile", "--plan", path, "--target", "h100", "--json"},
                                         [&] { ::setenv("PARTITA_PJRT_PLUGIN", plugin.c_str(), 1); });
    ASSERT_EQ(compiled.exit_code, 0);
    // A plan with several stages checks the one that is planned to take most.
    if (std::string(fixed).find("pipeline") == std::string::npos) {
      EXPECT_EQ(memory.at("compiled_memory").at("bytes"),
                nlohmann::json::parse(compiled.output).at("step").at("bytes"));
    } else {
      EXPECT_LE(memory.at("compiled_memory").at("bytes"),
                nlohmann::json::parse(compiled.output).at("step").at("bytes"));
    }
  }
}

TEST(CheckedPlan, GoesOnUntilTheProgramsFit) {
  const std::string plugin = plugin_in("PARTITA_CUDA_PLUGIN");
  if (plugin.empty()) GTEST_SKIP() << "no PARTITA_CUDA_PLUGIN";
  const PricedWords pinned{"--target", "h100:1", "--pin", "data=1,tensor=1,pipeline=1", "--check"};
  const auto bytes_in = [](const nlohmann::json& plan) { return plan.at("compiled_memory").at("bytes").get<double>(); };
  const nlohmann::json free = json_of_plan(pinned, plugin);
  // Less memory than the programs of the fastest plan take, though its estimate may fit.
  const double memory = 0.97 * bytes_in(free);
  PricedWords words = pinned;
  words.insert(words.end(), {"--memory", fmt::format("{:.9f}", memory / (1 << 30))});
  const nlohmann::json less = json_of_plan(words, plugin);
  EXPECT_LE(bytes_in(less), memory);
  EXPECT_GE(less.at("step_seconds"), free.at("step_seconds"));
}

}  // namespace
}  // namespace partita
