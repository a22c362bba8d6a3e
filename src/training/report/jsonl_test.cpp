#include "training/report/jsonl.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace partita {
namespace {

TEST(JsonLines, EveryStepIsThereAtOnce) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("partita_jsonl_test.{}.jsonl", ::getpid());
  std::filesystem::remove(path);
  JsonLines log(path.string(), nullptr);
  EXPECT_FALSE(std::filesystem::exists(path));
  log.on_train_begin({});
  log.on_step_end({.epoch = 1, .step = 1, .global_step = 1, .loss = 2.5, .seconds = 0.5, .samples = 8});
  log.on_step_end({.epoch = 2,
                   .step = 1,
                   .global_step = 9,
                   .loss = 0.1,
                   .seconds = 0.25,
                   .samples = 8,
                   .exposed_communication = 0.125});
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(nlohmann::json::parse(line)["samples_per_second"], 16.0);
  EXPECT_FALSE(nlohmann::json::parse(line).contains("exposed_communication_seconds"));
  std::getline(file, line);
  const auto second = nlohmann::json::parse(line);
  EXPECT_EQ(second["step"], 9);
  EXPECT_EQ(second["epoch"], 2);
  EXPECT_EQ(second["loss"], 0.1);
  EXPECT_EQ(second["step_seconds"], 0.25);
  EXPECT_EQ(second["exposed_communication_seconds"], 0.125);
  std::filesystem::remove(path);
}

/// Returns the steps of a log, -1 for other lines.
std::vector<int64_t> steps_of(const std::string& path) {
  std::vector<int64_t> steps;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto parsed = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    steps.push_back(parsed.is_object() && parsed.contains("step") ? parsed["step"].get<int64_t>() : -1);
  }
  return steps;
}

// A training resumed from step 3 of a run that was killed in its sixth step.
TEST(JsonLines, ATrainingThatGoesOnKeepsWhatItHasTaken) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("partita_jsonl_resumed.{}.jsonl", ::getpid())).string();
  const auto log_steps = [&](int64_t first, int64_t last) {
    JsonLines log(path, nullptr);
    log.on_train_begin({.first_step = first});
    for (int64_t step = first + 1; step <= last; ++step) log.on_step_end({.global_step = step});
  };
  log_steps(0, 5);
  std::ofstream(path, std::ios::app) << R"({"step":6,"epo)";
  log_steps(3, 4);
  EXPECT_EQ(steps_of(path), (std::vector<int64_t>{1, 2, 3, 4}));
  log_steps(4, 6);
  EXPECT_EQ(steps_of(path), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  std::ofstream(path, std::ios::app) << R"({"step":7,"epo)";
  log_steps(6, 8);
  EXPECT_EQ(steps_of(path), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  log_steps(20, 21);  // more steps than the log has
  EXPECT_EQ(steps_of(path), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 21}));
  log_steps(0, 1);  // a new training
  EXPECT_EQ(steps_of(path), (std::vector<int64_t>{1}));
  std::filesystem::remove(path);
  log_steps(2, 3);  // no log yet
  EXPECT_EQ(steps_of(path), (std::vector<int64_t>{3}));
  // Lines of other writers are kept.
  std::ofstream(path, std::ios::app) << "a note\n{\"epoch\":1,\"accuracy\":0.5}\nno end";
  log_steps(3, 4);
  EXPECT_EQ(steps_of(path), (std::vector<int64_t>{3, -1, -1, -1, 4}));
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

TEST(JsonLines, ValidationsFollowTheirEpochs) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("partita_jsonl_validation.{}.jsonl", ::getpid());
  JsonLines log(path.string(), nullptr);
  log.on_train_begin({});
  log.on_step_end({.global_step = 6, .loss = 0.5, .learning_rate = 0.25});
  const Metrics found{
      .samples = 4,
      .correct = 3,
      .loss = 0.125,
      .measured = {{"f1_macro", 0.5, false}, {"perplexity", std::numeric_limits<double>::infinity(), true}}};
  log.on_validation({.epoch = 1, .step = 6, .global_step = 6, .metrics = found});
  log.on_epoch_end({.epoch = 1, .validation = found});
  log.on_epoch_end({.epoch = 2});
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(nlohmann::json::parse(line)["learning_rate"], 0.25);
  std::getline(file, line);
  const auto validation = nlohmann::json::parse(line);
  EXPECT_EQ(validation["step"], 6);
  EXPECT_EQ(validation["validation_accuracy"], 0.75);
  EXPECT_EQ(validation["validation_loss"], 0.125);
  EXPECT_EQ(validation["validation_f1_macro"], 0.5);
  EXPECT_TRUE(validation["validation_perplexity"].is_null());
  EXPECT_FALSE(std::getline(file, line));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace partita
