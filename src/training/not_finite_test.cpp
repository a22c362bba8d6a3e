// The error of a loss that is not finite names its origin.

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/data/readers/memory_rows.h"
#include "training/test_training.h"

namespace partita {
namespace {

TEST(NotFinite, RankRowsAndStepAreNamed) {
  constexpr int64_t kCount = 48, kBatch = 12, kWidth = 3;
  for (const int ranks : {1, 2, 3, 4}) {
    for (const int64_t bad : {0, 17, 35, 47}) {
      Array images(Type{DType::f32, {kCount, kWidth}});
      for (int64_t i = 0; i < kCount * kWidth; ++i) images.set(i, static_cast<double>(i % 7) / 7);
      images.set(bad * kWidth + 1, NAN);
      const DatasetPtr rows = memory_rows({{"image", images}, {"label", Array(Type{DType::i32, {kCount}})}});
      JobConfig config = small_config(ranks);
      config.training.batch = kBatch;
      config.training.dtype = DType::f32;
      Model model(small_network("hidden=4,layers=1,classes=4"), config, Place{.cores = 1});
      EventRecorder recorder;
      std::string reason;
      try {
        model.train(rows, {.epochs = 1, .callbacks = {&recorder}});
      } catch (const RuntimeFailure& error) {
        reason = error.what();
        EXPECT_EQ(error.code(), ExitCode::non_finite);
      }
      const int64_t step = bad / kBatch;
      EXPECT_EQ(static_cast<int64_t>(recorder.steps.size()), step);
      const std::string rank = ranks == 1 ? "" : fmt::format(" on rank {}", bad % kBatch * ranks / kBatch);
      const std::string end = fmt::format("{}; in step {}, of rows {} to {} of epoch 1", rank, step + 1, step * kBatch,
                                          step * kBatch + kBatch - 1);
      EXPECT_TRUE(reason.starts_with("[train] the loss is not finite, got nan, expected a number: first made by "))
          << reason;
      EXPECT_TRUE(reason.ends_with(")" + end)) << reason << " for " << end;
    }
  }
}

}  // namespace
}  // namespace partita
