#include "report/jsonl.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace partita {
namespace {

TEST(JsonLines, EveryStepIsThereAtOnce) {
  const auto path = std::filesystem::temp_directory_path() / "partita_jsonl_test.jsonl";
  std::filesystem::remove(path);
  JsonLines log(path.string(), nullptr);
  EXPECT_FALSE(std::filesystem::exists(path));
  log.on_train_begin({});
  log.on_step_end({.epoch = 1, .step = 1, .global_step = 1, .loss = 2.5, .seconds = 0.5, .samples = 8});
  log.on_step_end({.epoch = 2, .step = 1, .global_step = 9, .loss = 0.1, .seconds = 0.25, .samples = 8});
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(nlohmann::json::parse(line)["samples_per_second"], 16.0);
  std::getline(file, line);
  const auto second = nlohmann::json::parse(line);
  EXPECT_EQ(second["step"], 9);
  EXPECT_EQ(second["epoch"], 2);
  EXPECT_EQ(second["loss"], 0.1);
  EXPECT_EQ(second["step_seconds"], 0.25);
  std::filesystem::remove(path);
}

TEST(JsonLines, AFullDiskIsOneWarning) {
  std::vector<std::string> warnings;
  JsonLines log("/dev/full", [&](const std::string& message) { warnings.push_back(message); });
  log.on_train_begin({});
  log.on_step_end({});
  log.on_step_end({});
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_TRUE(warnings[0].starts_with("[log] cannot write /dev/full: No space left")) << warnings[0];
}

TEST(JsonLines, AFileThatCannotBeOpenedIsExit73) {
  try {
    JsonLines log("/no/such/folder/log", nullptr);
    log.on_train_begin({});
    FAIL();
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), ExitCode::cannot_write);
  }
}

TEST(JsonLines, ATrainingThatGoesOnKeepsTheLinesOfItsSteps) {
  const auto path = std::filesystem::temp_directory_path() / "partita_jsonl_resumed.jsonl";
  const auto take = [&](int64_t first, int64_t last) {
    JsonLines log(path.string(), nullptr);
    log.on_train_begin({.first_step = first - 1});
    for (int64_t step = first; step <= last; ++step) log.on_step_end({.global_step = step, .loss = 0.5});
    log.on_epoch_end({.epoch = 1, .validation = Metrics{.samples = 4, .correct = 3, .loss = 0.25}});
  };
  take(1, 5);
  take(4, 6);  // from a checkpoint of step 3: steps 4 and 5 are taken again
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 7);
  for (int64_t step = 1; step <= 6; ++step) EXPECT_EQ(nlohmann::json::parse(lines[step - 1])["step"], step);
  const auto validation = nlohmann::json::parse(lines[6]);
  EXPECT_EQ(validation["validation_accuracy"], 0.75);
  EXPECT_EQ(validation["step"], 6);
  take(1, 1);  // a training of its own begins the file anew
  std::ifstream again(path);
  int64_t count = 0;
  for (std::string line; std::getline(again, line);) ++count;
  EXPECT_EQ(count, 2);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace partita
