// What the numbers of a training measure, and which of them a resumed training keeps.

#include "training/measures.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>

#include "compiler/autodiff/optimizer.h"
#include "frontend/data/readers/generated_rows.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/data/views/concat.h"
#include "frontend/data/views/rename.h"
#include "frontend/data/views/take.h"
#include "frontend/data/views/zip.h"
#include "ir/graph/builder.h"
#include "runtime/checkpoint/manifest.h"
#include "training/configuration.h"
#include "training/epoch_so_far.h"
#include "training/test_training.h"

namespace partita {
namespace {

/// Rows of functions, of which each read gives others.
DatasetPtr drawn_rows(int64_t size) {
  const auto count = std::make_shared<std::atomic<int>>(0);
  return generated_rows({{"x", {DType::f32, {2}}}}, size, [count](int64_t, int64_t, std::span<const Tensor> row) {
    row[0].as<float>()[0] = row[0].as<float>()[1] = static_cast<float>(++*count);
  });
}

TEST(Measures, ValidationRowsOfFunctionsAreNamedByTheirNumber) {
  const DatasetPtr fixed = counting(30), drawn = drawn_rows(30);
  const auto named = [&](const DatasetPtr& rows) {
    return describe_training(small_config(1), Graph(), counting(48), 8, rows).at(kValidationKey);
  };
  for (const DatasetPtr& rows : {drawn, take(drawn_rows(40), 30), rename(drawn, {"y"}), zip({fixed, drawn}),
                                 concat({drawn_rows(10), drawn_rows(20)})}) {
    EXPECT_TRUE(rows->has_functions());
    EXPECT_EQ(named(rows), "30 of functions");
  }
  EXPECT_FALSE(fixed->has_functions());
  EXPECT_EQ(named(fixed), named(take(counting(40), 30)));
  EXPECT_NE(named(fixed), named(drawn));
}

TEST(EpochSoFar, LeavesOutALossThatMakesTheSumInfinite) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  for (const double sign : {1.0, -1.0}) {
    EpochSoFar epoch;
    for (const double loss : {kLargest, kLargest, 2.0, -kLargest}) epoch.add(sign * loss, 0);
    EXPECT_EQ(epoch.losses().steps, 4);
    EXPECT_EQ(epoch.losses().uncounted, 1);
    EXPECT_TRUE(std::isfinite(epoch.info(1, false).loss));
    // What is saved can be read.
    TrainingPosition position{.step = 4, .batch = 1, .rows = 8, .epoch = epoch.losses()};
    TrainingPosition again{.metadata = metadata_of(position)};
    take_from_metadata(again, "f");
    EXPECT_EQ(again.epoch, epoch.losses());
    EXPECT_EQ(parse_manifest(print_manifest({.position = position}), "f").position.epoch, epoch.losses());
  }
}

}  // namespace
}  // namespace partita
