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

void expect_trained_alike(const std::string& network, const std::vector<const char*>& all_pins) {
  const std::string one = losses_of({"train", network, "--batch", "24"});
  ASSERT_FALSE(one.empty());
  const TempDir folder;
  const std::string path = (folder.path() / "plan.txt").string();
  for (const char* pins : all_pins) {
    SCOPED_TRACE(network + " " + pins);
    planned({"--cluster", "cpu", "--pin", pins, "--out", path}, network);
    EXPECT_EQ(losses_of({"train", "--plan", path}), one);
    EXPECT_EQ(losses_of({"train", network, "--plan", path}), one);
  }
}

TEST(Plan, CanBeTrained) {
  expect_trained_alike(kNetwork, {"data=2", "data=3,zero=1,micro_batch=2", "tensor=2,data=2",
                                  "pipeline=4,data=1,tensor=1", "pipeline=2,data=3,micro_batch=1",
                                  "pipeline=2,interleave=2,tensor=2,sequence_parallel=true,data=2",
                                  "data=4,recompute=full,zero=3"});
}

TEST(Plan, OtherNetworksCanBeTrained) {
  const std::vector<const char*> ranks{"data=2", "data=2,pipeline=2,micro_batch=3", "data=3,pipeline=2,micro_batch=1",
                                       "data=4,pipeline=2,zero=1,micro_batch=2"};
  expect_trained_alike("mlp:layers=6,hidden=24", ranks);
  expect_trained_alike("lenet", ranks);
  expect_trained_alike("llama:layers=4,hidden=16,heads=4,kv_heads=2,intermediate=24,seq=8,vocab=256",
                       {"data=2", "tensor=2,data=2,pipeline=1", "data=3,pipeline=2,tensor=1,micro_batch=4",
                        "tensor=2,pipeline=2,data=2,micro_batch=2"});
}

}  // namespace
}  // namespace partita
