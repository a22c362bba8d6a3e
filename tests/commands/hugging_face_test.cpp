// Trainings that begin with a folder of Hugging Face: resumed, averaged, adapted, and as processes.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/weights.h"
#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

std::string fixture(const std::string& name) { return fmt::format("{}/tests/hugging_face/{}", kSourceDir, name); }

std::string model_in(const std::string& name) { return "hf:" + fixture(name) + ",seq=12"; }

void run(const std::vector<std::string>& words) {
  const Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
}

/// Trains and returns the weights that it saves to `to`.
std::map<std::string, Array> trained(const std::string& model, const fs::path& to,
                                     const std::vector<std::string>& more) {
  std::vector<std::string> words{"train",     model,       "--data", "synthetic",        "--batch", "4",
                                 "--no-eval", "--threads", "1",      "--schedule-steps", "4",       "--warmup-steps",
                                 "0"};
  words.insert(words.end(), {"--save", to.string()});
  words.insert(words.end(), more.begin(), more.end());
  run(words);
  return fs::exists(to) ? load_weights(to.string()) : std::map<std::string, Array>();
}

void expect_equal_weights(const std::map<std::string, Array>& got, const std::map<std::string, Array>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, array] : expected) {
    ASSERT_TRUE(got.contains(name)) << name;
    const auto bytes = static_cast<size_t>(array.type().bytes());
    EXPECT_EQ(std::memcmp(got.at(name).data(), array.data(), bytes), 0) << name;
  }
}

double loss_of(const std::vector<std::string>& words) {
  const Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
  const size_t at = outcome.output.find("test loss ");
  return at == std::string::npos ? -1 : std::strtod(outcome.output.c_str() + at + 10, nullptr);
}

TEST(HuggingFaceTrainings, GoOnFromACheckpoint) {
  const TempDir folder;
  const std::string checkpoints = (folder.path() / "run").string();
  const auto whole = trained(model_in("llama"), folder.path() / "whole.safetensors", {"--steps", "4"});
  // The first call of the same command finds no checkpoint and begins with the folder.
  for (const char* steps : {"2", "4"}) {
    const auto part = trained(model_in("llama"), folder.path() / "part.safetensors",
                              {"--steps", steps, "--checkpoint", checkpoints, "--resume", "latest"});
    if (std::string(steps) == "4") expect_equal_weights(part, whole);
  }
  // Weights that the user names are refused next to a checkpoint, as before.
  expect_refusal({"train", model_in("llama"), "--load", "hf:" + fixture("llama"), "--resume", checkpoints},
                 ExitCode::usage, {"[--load]", "--resume"});
}

TEST(HuggingFaceTrainings, AveragesBeginWithTheWeights) {
  const TempDir folder;
  const fs::path imported = folder.path() / "imported.safetensors";
  run({"import", fixture("qwen2"), "--out", imported.string(), "--model", model_in("qwen2")});
  const std::vector<std::string> more{"--steps", "2", "--ema", "0.75", "--save-averages"};
  const auto from_folder = trained(model_in("qwen2"), folder.path() / "a.safetensors", more);
  std::vector<std::string> loaded = more;
  loaded.insert(loaded.end(), {"--load", imported.string()});
  expect_equal_weights(from_folder, trained(model_in("qwen2"), folder.path() / "b.safetensors", loaded));
}

TEST(HuggingFaceTrainings, ProcessesReadAsThreads) {
  const TempDir folder;
  const auto threads =
      trained(model_in("mixtral"), folder.path() / "threads.safetensors", {"--steps", "2", "--ranks", "2"});
  const fs::path to = folder.path() / "processes.safetensors";
  run({"launch",         "--ranks", "2",       "--",        kProgram,    "train",    model_in("mixtral"), "--data",
       "synthetic",      "--batch", "4",       "--no-eval", "--threads", "1",        "--schedule-steps",  "4",
       "--warmup-steps", "0",       "--steps", "2",         "--save",    to.string()});
  expect_equal_weights(load_weights(to.string()), threads);
}

TEST(HuggingFaceTrainings, AdaptersFitMergedFolders) {
  const TempDir folder;
  const fs::path own = folder.path() / "own.safetensors";
  const std::string adapted = model_in("mistral") + ",lora=3,frozen=wte.*",
                    merged = (folder.path() / "merged").string();
  const auto adapters = trained(adapted, own, {"--steps", "4", "--lr", "0.05", "--ranks", "2"});
  EXPECT_EQ(adapters.size(), 8U);  // two matrices for q and v of two layers
  run({"export", own.string(), "--base", "hf:" + fixture("mistral"), "--out", merged});
  const std::vector<std::string> rows{"--data", "synthetic", "--threads", "1"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), rows.begin(), rows.end());
    return loss_of(words);
  };
  const double unmerged = with({"eval", adapted, "--adapters", own.string()});
  EXPECT_GT(unmerged, 0);
  EXPECT_NEAR(with({"eval", "hf:" + merged + ",seq=12"}), unmerged, 1e-4);
  EXPECT_NEAR(with({"eval", adapted, "--adapters", own.string(), "--ranks", "3"}), unmerged, 1e-4);
  EXPECT_GT(std::abs(with({"eval", model_in("mistral")}) - unmerged), 1e-3);
}

// Statistics of norms move while additions are trained.
TEST(HuggingFaceTrainings, AdaptersKeepStatistics) {
  const TempDir folder;
  const std::string model = "hf:" + fixture("resnet") + ",size=32,lora=2,lora_layers=fc",
                    run_folder = (folder.path() / "run").string();
  const fs::path own = folder.path() / "own.safetensors";
  trained(model, own, {"--steps", "4", "--checkpoint", run_folder});
  const std::vector<std::string> rows{"--data", "synthetic", "--threads", "1"};
  const double of_checkpoint = loss_of({"eval", model, "--load", run_folder, "--data", "synthetic", "--threads", "1"});
  EXPECT_NEAR(loss_of({"eval", model, "--adapters", own.string(), "--data", "synthetic", "--threads", "1"}),
              of_checkpoint, 1e-4);
  const std::string merged = (folder.path() / "merged").string(), whole = (folder.path() / "whole").string();
  run({"export", own.string(), "--base", "hf:" + fixture("resnet"), "--out", merged});
  run({"export", run_folder, "--out", whole});
  for (const std::string& exported : {merged, whole}) {
    EXPECT_NEAR(loss_of({"eval", "hf:" + exported + ",size=32", "--data", "synthetic", "--threads", "1"}),
                of_checkpoint, 1e-4);
  }
}

}  // namespace
}  // namespace partita
