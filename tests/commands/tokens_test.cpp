// Trainings on files of token ids.

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "frontend/data/readers/test_token_files.h"
#include "support/program.h"
#include "training/model.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

/// Returns the losses of a log of steps by step.
std::map<int64_t, double> losses_in(const std::filesystem::path& log) {
  std::map<int64_t, double> losses;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json step = nlohmann::json::parse(line);
    if (step.contains("step") && step.contains("loss")) losses[step["step"]] = step["loss"];
  }
  return losses;
}

// An epoch has 17 steps. The training is stopped in the middle of the second one, and goes on on another number of
// ranks.
TEST(Tokens, GoOnInTheMiddleOfAnEpochOnOtherRanks) {
  const TempDir folder;
  std::vector<std::vector<int32_t>> documents;
  for (int32_t d = 0; d < 200; ++d) {
    documents.emplace_back();
    for (int32_t i = 0; i < d * 7 % 23; ++i) documents.back().push_back((d * 31 + i * 7) % 100);
  }
  const std::string data = "tokens:" + write_indexed<uint16_t>(folder, "m", documents).string();
  const auto train = [&](const std::string& ranks, const std::string& steps, const std::string& name,
                         const std::vector<std::string>& more) {
    const std::filesystem::path log = folder.path() / (name + ".jsonl");
    std::vector<std::string> words{"train", "gpt:layers=1,hidden=16,heads=2,seq=16,vocab=100"};
    words.insert(words.end(), {"--data", data, "--batch", "8", "--ranks", ranks, "--threads", "1", "--steps", steps});
    words.insert(words.end(), {"--schedule-steps", "40", "--no-eval", "--log", log.string()});
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    return losses_in(log);
  };
  const std::string run = (folder.path() / "run").string();
  const std::map<int64_t, double> whole = train("1", "30", "whole", {});
  train("2", "21", "first", {"--checkpoint", run});
  const std::map<int64_t, double> rest = train("4", "30", "rest", {"--resume", run});
  ASSERT_EQ(rest.size(), 9U);
  for (const auto& [step, loss] : rest) EXPECT_NEAR(loss, whole.at(step), 1e-4) << step;
  // Losses of neighbouring steps differ by more, so other rows would be seen.
  EXPECT_GT(std::abs(whole.at(23) - whole.at(24)), 1e-3);
}

constexpr const char* kMaskedModel = "gpt:layers=1,hidden=16,heads=2,seq=16,vocab=100";

/// Loss and accuracy over targets, computed from the logits alone.
struct TargetMetrics {
  double loss = 0, accuracy = 0;
};

/// Returns the metrics of the first `count` rows of a split, on one rank. A label of -1 is no target.
TargetMetrics metrics_by_hand(const JobConfig& config, Split split, int64_t count) {
  const ZooJob job(config, Place{.cores = 1});
  Model model(job, Place{.cores = 1});
  const int64_t tokens = 16, classes = 100;
  const auto predict = model.predictor({{"tokens", {DType::i32, {tokens}}}}, /*rows=*/1);
  const DatasetPtr rows = job.rows(split);
  double loss = 0, right = 0, targets = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Row row = rows->row(0, i);
    Array ids(Type{DType::i32, {1, tokens}});
    std::copy_n(row[0].as<int32_t>(), tokens, ids.as<int32_t>());
    const Array logits = predict({{"tokens", ids}}).at(0).second;
    for (int64_t t = 0; t < tokens; ++t) {
      const int32_t label = row[1].as<int32_t>()[t];
      if (label == -1) continue;
      const float* from = logits.as<float>() + t * classes;
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(from[c]);
      loss += std::log(sum) - from[label];
      right += std::max_element(from, from + classes) - from == label;
      ++targets;
    }
  }
  EXPECT_GT(targets, 0);
  EXPECT_LT(targets, static_cast<double>(count * tokens) * 0.8);
  return {loss / targets, right / targets};
}

// Prompts have other lengths, and the last rows of a batch have fewer targets than the first, or none, so ranks and
// micro-batches count by their targets.
TEST(Tokens, MaskedOnesAreNotInLossesOnAnyRanks) {
  const TempDir folder;
  std::vector<std::vector<int32_t>> documents;
  std::vector<bool> mask;
  for (int32_t d = 0; d < 90; ++d) {
    documents.emplace_back();
    const int32_t prompt = d * 13 % 40;
    for (int32_t i = 0; i < prompt + d % 9; ++i) {
      documents.back().push_back((d * 31 + i * i * 7) % 100);
      mask.push_back(i >= prompt);
    }
  }
  const std::string index = write_indexed<uint16_t>(folder, "m", documents);
  folder.write("m.mask", mask_bytes(mask));
  const std::string data = fmt::format("tokens:{0},{0}", index);
  JobConfig config = configured(kMaskedModel, {});
  config.data.source = parse_data_source("test", data);
  const int64_t rows = ZooJob(config, Place{.cores = 1}).rows(Split::test)->size();
  const TargetMetrics test = metrics_by_hand(config, Split::test, rows);
  const TargetMetrics first = metrics_by_hand(config, Split::train, 12);
  for (const int64_t ranks : {1, 2, 3}) {
    config.ranks.count = static_cast<int>(ranks);
    const Metrics metrics = Model(ZooJob(config, Place{.cores = 1}), Place{.cores = 1}).eval();
    EXPECT_NEAR(metrics.loss, test.loss, 1e-5) << ranks;
    EXPECT_NEAR(metrics.accuracy(), test.accuracy, 1e-9) << ranks;
    for (const char* micro_batches : {"1", "2"}) {
      const std::filesystem::path log = folder.path() / "log.jsonl";
      const Outcome outcome = run_program({"train", kMaskedModel, "--data", data, "--batch", "12", "--ranks",
                                           fmt::to_string(ranks), "--threads", "1", "--steps", "1", "--no-eval",
                                           "--micro-batches", micro_batches, "--log", log.string()});
      EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
      EXPECT_NEAR(losses_in(log).at(1), first.loss, 1e-5) << ranks << " ranks, micro-batches " << micro_batches;
    }
  }
  // The label may be another one.
  config.training.ignore_index = -100;
  EXPECT_NEAR(Model(ZooJob(config, Place{.cores = 1}), Place{.cores = 1}).eval().loss, test.loss, 1e-5);
}

}  // namespace
}  // namespace partita
