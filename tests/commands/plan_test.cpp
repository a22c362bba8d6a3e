// Plans are printed, written, and trained.

#include <nlohmann/json.hpp>

#include "support/program.h"

namespace partita {
namespace {

using PlanWords = std::vector<std::string>;

constexpr const char* kNetwork = "gpt:layers=8,hidden=32,heads=4,seq=16";

nlohmann::json planned(const PlanWords& more, const std::string& network = kNetwork) {
  PlanWords words{"plan", network, "--batch", "24", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0);
  return nlohmann::json::parse(outcome.output);
}

TEST(Plan, PricesAConfiguration) {
  const nlohmann::json one = planned({"--cluster", "a100-80", "--fixed", "data=2,pipeline=4,micro_batch=1"});
  EXPECT_GT(one.at("step_seconds"), 0);
  EXPECT_LE(one.at("lower_bound_seconds"), one.at("step_seconds"));
  EXPECT_EQ(one.at("peak_memory_bytes").size(), 4U);
  EXPECT_EQ(one.at("plan"), "data=2,pipeline=4,micro_batch=1");
  EXPECT_GT(one.at("breakdown").at("bubble"), 0);
  EXPECT_GT(one.at("breakdown").at("communication").at("send"), 0);
  EXPECT_GT(one.at("tflops_per_device"), 0);
  const auto seconds_on = [](const std::string& cluster) {
    const PlanWords words{"--cluster", cluster, "--dtype", "bf16", "--fixed", "data=2,pipeline=4,micro_batch=1"};
    return planned(words, "gpt:layers=8,hidden=4096,heads=32,seq=1024").at("step_seconds").get<double>();
  };
  EXPECT_GT(seconds_on("v100"), seconds_on("a100-80"));
  EXPECT_GT(seconds_on("a100-80"), seconds_on("h100"));
}

TEST(Plan, PrintsStagesAndTemplates) {
  const Outcome outcome = run_program({"plan", kNetwork, "--batch", "24", "--cluster", "a100-80:2"});
  for (const char* part : {"configuration", "step", "compute", "memory", "data parallel", "Megatron"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << " in " << outcome.output;
}

/// The losses of the first steps.
std::string losses_of(const PlanWords& words) {
  PlanWords all = words;
  all.insert(all.end(), {"--steps", "4", "--per-print-times", "1", "--no-eval", "--dtype", "f64", "--threads", "1"});
  const Outcome outcome = run_program(all);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  std::string losses;
  for (size_t at = outcome.output.find("loss is "); at != std::string::npos;
       at = outcome.output.find("loss is ", at + 1))
    losses += outcome.output.substr(at + 8, 12) + " ";  // 11 digits
  return losses;
}

TEST(Plan, CanBeTrained) {
  const std::string one = losses_of({"train", kNetwork, "--batch", "24"});
  ASSERT_FALSE(one.empty());
  const TempDir folder;
  const std::string path = (folder.path() / "plan.toml").string();
  for (const char* pins :
       {"data=2", "data=3,zero=1,micro_batch=2", "tensor=2,data=2", "pipeline=4,data=1,tensor=1",
        "pipeline=2,data=3,micro_batch=1", "pipeline=2,interleave=2,tensor=2,sequence_parallel=true,data=2",
        "data=4,recompute=full,zero=3"}) {
    SCOPED_TRACE(pins);
    planned({"--cluster", "cpu", "--pin", pins, "--out", path});
    EXPECT_EQ(losses_of({"train", "--config", path}), one);
  }
}

}  // namespace
}  // namespace partita
