#include "training/report/seen_devices.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

const SeenDevices kTwo{"cuda", 2};

TEST(SlowerModes, OfCollectivesAreForRanksWithADeviceEach) {
  const RankOptions cuda{.device = "cuda", .left_open = {.collectives = true}};
  const auto is_slower = [](const RankOptions& options, const SeenDevices& devices, int ranks, int here) {
    const SlowerModes slower = slower_modes(options, devices, ranks, {.size = here}, /*composes_attention=*/true);
    EXPECT_FALSE(slower.attention) << "its mode was chosen";
    return slower.collectives;
  };
  EXPECT_TRUE(is_slower(cuda, kTwo, 8, 2));
  EXPECT_TRUE(is_slower(cuda, {"cuda", 8}, 2, 2));
  EXPECT_FALSE(is_slower(cuda, kTwo, 1, 1)) << "nobody to communicate with";
  EXPECT_FALSE(is_slower(cuda, kTwo, 3, 3)) << "ranks that share a device";
  RankOptions other = cuda;
  other.device = "cuda:1";
  EXPECT_FALSE(is_slower(other, kTwo, 2, 2)) << "ranks that share the device that is named";
  other.device = "xla:cpu";
  EXPECT_FALSE(is_slower(other, {"cpu", 8}, 2, 2)) << "devices that are the host";
  other = cuda;
  other.collectives = CollectiveMode::whole;
  EXPECT_FALSE(is_slower(other, kTwo, 2, 2));
  other = cuda;
  other.deterministic = true;
  EXPECT_FALSE(is_slower(other, kTwo, 2, 2)) << "sums of the host are wanted";
  other = cuda;
  other.left_open = {};
  EXPECT_FALSE(is_slower(other, kTwo, 2, 2)) << "cut was asked for";
}

TEST(SlowerModes, OfAttentionAreForGpusOfNvidia) {
  RankOptions options{.device = "cuda", .left_open = {.attention = true}};
  const auto is_slower = [&](const std::string& platform, bool composes) {
    return slower_modes(options, {platform, 1}, 1, {.size = 1}, composes).attention;
  };
  EXPECT_TRUE(is_slower("cuda", true));
  EXPECT_FALSE(is_slower("cuda", false)) << "a network without attention";
  EXPECT_FALSE(is_slower("rocm", true));
  options.deterministic = true;
  EXPECT_FALSE(is_slower("cuda", true));
  options = {.device = "cuda"};
  EXPECT_FALSE(is_slower("cuda", true)) << "composed was asked for";
  options = {.device = "cuda", .attention = AttentionMode::fused, .left_open = {.attention = true}};
  EXPECT_FALSE(is_slower("cuda", true)) << "fused was chosen, and refused";
}

}  // namespace
}  // namespace partita
