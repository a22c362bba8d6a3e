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
