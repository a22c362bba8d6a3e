#include "training/report/collectives_note.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(NoteOnCollectives, IsForRanksWithADeviceEach) {
  const SeenDevices two{"cuda", 2};
  const RankOptions cuda{.device = "cuda"};
  const auto is_noted = [](const RankOptions& options, const SeenDevices& devices, int ranks, int here) {
    return !note_on_collectives(options, devices, ranks, {.size = here}).empty();
  };
  EXPECT_EQ(
      note_on_collectives(cuda, two, 8, {.size = 2}),
      "[collectives] ranks with a device each communicate through the host, got --collectives cut on 8 ranks of a "
      "stage, expected whole if the devices are to do it themselves");
  EXPECT_TRUE(is_noted(cuda, {"cuda", 8}, 2, 2));
  EXPECT_FALSE(is_noted(cuda, two, 1, 1)) << "nobody to communicate with";
  EXPECT_FALSE(is_noted(cuda, two, 3, 3)) << "ranks that share a device";
  EXPECT_FALSE(is_noted({.device = "cuda:1"}, two, 2, 2)) << "ranks that share the device that is named";
  EXPECT_FALSE(is_noted({.device = "xla:cpu"}, {"cpu", 8}, 2, 2)) << "devices that are the host";
  EXPECT_FALSE(is_noted({.device = "cuda", .collectives = CollectiveMode::whole}, two, 2, 2));
  EXPECT_FALSE(is_noted({.device = "cuda", .deterministic = true}, two, 2, 2)) << "sums of the host are wanted";
}

}  // namespace
}  // namespace partita
