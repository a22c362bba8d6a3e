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
  JsonLines log(path.string());
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
  JsonLines log("/dev/full", [&](const std::string& text) { warnings.push_back(text); });
  log.on_train_begin({});
  for (int i = 0; i < 3; ++i) log.on_step_end({});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "[log] cannot write /dev/full: No space left on device; the training goes on without it");
}

TEST(JsonLines, AMissingFolderIsExit73) {
  try {
    JsonLines log("no/such/folder/log");
    log.on_train_begin({});
    FAIL();
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), ExitCode::cannot_write);
  }
}

}  // namespace
}  // namespace partita
