#include "job/accelerator_modes.h"

#include <gtest/gtest.h>

#include "job/config.h"

namespace partita {
namespace {

constexpr AcceleratorModes kSlow{}, kFast{CollectiveMode::whole, AttentionMode::fused};
constexpr ProvenModes kAll{.whole = true, .fused = true};

TEST(AcceleratorModes, ThatAreChosenAreTaken) {
  for (const ProvenModes& proven : {ProvenModes(), kAll}) {
    EXPECT_EQ(
        choose_modes({.device = "cuda", .collectives = CollectiveChoice::whole, .attention = AttentionChoice::fused},
                     proven),
        kFast);
    EXPECT_EQ(
        choose_modes({.device = "cuda", .collectives = CollectiveChoice::cut, .attention = AttentionChoice::composed},
                     proven),
        kSlow);
  }
}

TEST(AcceleratorModes, ThatAreOpenAreTheFasterOnesWhereTheyAreProven) {
  EXPECT_EQ(choose_modes({.device = "cuda"}, {}), kSlow);
  EXPECT_EQ(choose_modes({.device = "cuda:1"}, kAll), kFast);
  EXPECT_EQ(choose_modes({.device = "cuda"}, {.fused = true}).collectives, CollectiveMode::cut);
  EXPECT_EQ(choose_modes({.device = "cuda"}, {.whole = true}).attention, AttentionMode::composed);
  EXPECT_EQ(choose_modes({.device = "tpu"}, kAll), (AcceleratorModes{.collectives = CollectiveMode::whole}))
      << "fused attention is that of cuDNN";
  EXPECT_EQ(choose_modes({.device = "cpu"}, kAll), kSlow);
  EXPECT_EQ(choose_modes({.device = "cuda", .deterministic = true}, kAll), kSlow) << "two runs have the same bits";
}

// A mode that becomes proven needs the row of the guide's table, and its faults on hardware mended before.
TEST(AcceleratorModes, NoneIsProvenYet) {
  for (const std::string_view kind : {"cpu", "xla:cpu", "cuda", "rocm", "oneapi", "tpu"}) {
    EXPECT_FALSE(proven_modes(kind).whole) << kind;
    EXPECT_FALSE(proven_modes(kind).fused) << kind;
  }
  EXPECT_EQ(choose_modes({.device = "cuda"}), kSlow);
}

TEST(AcceleratorModes, TheNoteNamesTheFlags) {
  EXPECT_EQ(note_on_modes("cuda", {}), "");
  EXPECT_EQ(note_on_modes("cuda", {.collectives = true}),
            "[device] auto takes what has run on cuda, got --collectives cut, expected the same, or what is faster and "
            "has not run there: --collectives whole");
  EXPECT_EQ(
      note_on_modes("cuda", {.collectives = true, .attention = true}),
      "[device] auto takes what has run on cuda, got --collectives cut --attention composed, expected the same, or "
      "what is faster and has not run there: --collectives whole --attention fused");
}

}  // namespace
}  // namespace partita
