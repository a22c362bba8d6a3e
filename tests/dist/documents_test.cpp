// Rows of several documents: each document is computed as if it were alone, on any number of ranks.

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "frontend/data/readers/memory_rows.h"
#include "support/token_trainings.h"
#include "training/model.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

constexpr int64_t kSeq = 24, kDocumentVocab = 20, kDocumentRows = 24;

Array random_tokens(uint64_t seed, int64_t rows, const char* name) {
  return random_ids(seed, name, {rows, kSeq}, kDocumentVocab);
}

/// Returns where the documents of random lengths begin that each token is in.
Array random_begins(uint64_t seed, int64_t rows) {
  Array begins(Type{DType::i32, {rows, kSeq}});
  for (int64_t row = 0; row < rows; ++row) {
    int64_t begin = 0;
    for (int64_t i = 0; i < kSeq; ++i) {
      const auto at = static_cast<uint64_t>(row * kSeq + i);
      if (i > 0 && random_below(random_key(seed, "begins"), at, 0, 5) == 0) begin = i;
      begins.set(row * kSeq + i, static_cast<double>(begin));
    }
  }
  return begins;
}

JobConfig documents_config(const std::string& model, int ranks, const PlanOptions& plan = {}) {
  JobConfig config = configured(fmt::format("{},seq={},vocab={}", model, kSeq, kDocumentVocab), {});
  config.training.batch = kDocumentRows;
  config.training.dtype = DType::f64;
  config.schedule = {.kind = LrKind::constant, .learning_rate = 0.02};
  config.ranks = {.count = ranks, .threads = 1};
  config.plan.options = plan;
  config.console.quiet = true;
  return config;
}

class Documents : public testing::TestWithParam<const char*> {};

TEST_P(Documents, AreComputedAsIfTheyWereAlone) {
  Model model(documents_config(GetParam(), 1), Place{.cores = 2});
  const Array tokens = random_tokens(1, kDocumentRows, "tokens"), begins = random_begins(2, kDocumentRows);
  const Array packed = model.predict({{"tokens", tokens}, {std::string(kDocumentColumn), begins}}).at(0).second;
  ASSERT_EQ(packed.shape(), (Shape{kDocumentRows, kSeq, kDocumentVocab}));
  // Each document at the begin of a row of its own. The tokens after it are others.
  int64_t documents = 0;
  for (int64_t row = 0; row < kDocumentRows; ++row) {
    for (int64_t begin = 0; begin < kSeq;) {
      int64_t end = begin + 1;
      while (end < kSeq && begins.at(row * kSeq + end) == begins.at(row * kSeq + begin)) ++end;
      Array alone = random_tokens(100 + static_cast<uint64_t>(row), 1, "others");
      for (int64_t i = begin; i < end; ++i) alone.set(i - begin, tokens.at(row * kSeq + i));
      const Array own = model.predict({{"tokens", alone}}).at(0).second;
      for (int64_t k = 0; k < (end - begin) * kDocumentVocab; ++k) {
        ASSERT_NEAR(packed.at((row * kSeq + begin) * kDocumentVocab + k), own.at(k), 1e-12) << row << " " << begin;
      }
      ++documents;
      begin = end;
    }
  }
  EXPECT_GT(documents, 2 * kDocumentRows);
}

/// Returns the losses of four steps and their gradients' effect.
std::vector<double> document_losses(const JobConfig& config) {
  std::vector<double> losses;
  RecordedLosses recorded(losses);
  Model model(config, Place{.cores = 8});
  model.on_warning([](const std::string&) {});
  FitOptions fit{.epochs = 4};
  fit.callbacks = {&recorded};
  model.train(memory_rows({{"tokens", random_tokens(1, kDocumentRows, "tokens")},
                           {"label", random_tokens(3, kDocumentRows, "label")},
                           {std::string(kDocumentColumn), random_begins(2, kDocumentRows)}}),
              fit);
  return losses;
}

TEST_P(Documents, TrainAlikeUnderAnyCuts) {
  const std::vector<double> expected = document_losses(documents_config(GetParam(), 1));
  ASSERT_EQ(expected.size(), 4u);
  const auto expect_same = [&](const JobConfig& config, const std::string& what) {
    const std::vector<double> losses = document_losses(config);
    ASSERT_EQ(losses.size(), expected.size()) << what;
    for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-12) << what << ", step " << i;
  };
  for (const int ranks : {2, 3, 4, 6, 8})
    expect_same(documents_config(GetParam(), ranks), fmt::format("{} ranks", ranks));
  PlanOptions tensor{.parallel = Parallel::automatic}, sequence = tensor, context = tensor, stages;
  tensor.blocks.tensor = 2;
  sequence.blocks = {.tensor = 2, .sequence = true};
  context.blocks.context = 2;
  stages.pipeline.stages = 2;
  stages.micro_batches = 2;
  expect_same(documents_config(GetParam(), 4, tensor), "tensor");
  expect_same(documents_config(GetParam(), 2, sequence), "sequence");
  expect_same(documents_config(GetParam(), 4, stages), "stages");
  expect_same(documents_config(GetParam(), 2, context), "context");
  PlanOptions both = stages;
  both.parallel = Parallel::automatic;
  both.blocks.tensor = 2;
  expect_same(documents_config(GetParam(), 4, both), "stages and tensor");
  JobConfig recomputed = documents_config(GetParam(), 2);
  recomputed.plan.recompute = Recompute::selective;
  expect_same(recomputed, "recomputed");
}

INSTANTIATE_TEST_SUITE_P(Models, Documents,
                         testing::Values("gpt:layers=2,hidden=16,heads=4",
                                         "llama:layers=2,hidden=16,heads=4,kv_heads=2"),
                         [](const auto& info) { return fmt::format("{}", info.index); });

}  // namespace
}  // namespace partita
