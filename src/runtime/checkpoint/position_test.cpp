// What a file of a whole training keeps in its metadata.

#include "runtime/checkpoint/position.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/checkpoint/kinds.h"

namespace partita {
namespace {

TEST(TrainingPosition, ComesBackFromMetadata) {
  TrainingPosition position{.step = 3, .metadata = {{"partita.config", "model = \"x\"\n"}, {"box:w", "0:1 of 2"}}};
  position.epoch = {.sum = 1.0 / 3, .steps = 7, .uncounted = 2};
  position.callbacks = {{"early_stopping", {"0.5 2", "lowest loss"}},
                        {"early_stopping 2", {"", "highest accuracy"}},
                        {"mine", {"text\nof lines"}}};
  position.measures = {{kScaleMeasure, "static 8"}, {kLossMeasure, "sparse loss"}, {kRateMeasure, ""}};
  TrainingPosition again{.step = 3, .metadata = metadata_of(position)};
  EXPECT_EQ(again.metadata.at("partita.config"), "model = \"x\"\n");
  take_from_metadata(again, "f");
  EXPECT_EQ(again.metadata, position.metadata);
  EXPECT_EQ(again.epoch, position.epoch);
  EXPECT_EQ(again.callbacks, position.callbacks);
  EXPECT_EQ(again.measures, position.measures);
  take_from_metadata(again, "f");  // a file of an older program has none of it
  EXPECT_EQ(again.metadata, position.metadata);
}

TEST(TrainingPosition, BadLossesAreRefused) {
  for (const std::string text : {"", "1", "1 2", "1 2 3", "1 3 2 1", "x 3 2", "nan 3 2", "inf 3 2", "1 3 -1", "1 -3 -4",
                                 "1  3 2", "1 3 2 ", "1,5 3 2", "1 99999999999999999 2"}) {
    TrainingPosition position{.metadata = {{"partita.losses", text}}};
    try {
      take_from_metadata(position, "f");
      ADD_FAILURE() << text;
    } catch (const InvalidFile& error) {
      EXPECT_EQ(std::string(error.what()),
                fmt::format("[resume] f: bad losses of the epoch, got '{}' in 'partita.losses', expected a sum and two "
                            "counts",
                            text));
    }
  }
}

TEST(StateKinds, ComeBackFromMetadata) {
  const StateKinds kinds{{"w", StateKind::parameter}, {"a name", StateKind::statistic}, {"t", StateKind::counter}};
  Metadata metadata{{"other", "text"}};
  EXPECT_FALSE(take_kinds(metadata));
  add_kinds(metadata, kinds);
  StateKinds others = kinds;
  others.erase("w");
  EXPECT_EQ(take_kinds(metadata), others) << "parameters are left out";
  EXPECT_EQ(metadata, (Metadata{{"other", "text"}}));
  metadata["partita.kinds"] = "optimizer m\npet w\nstatistic\n\ncounter t";
  EXPECT_EQ(take_kinds(metadata), (StateKinds{{"m", StateKind::optimizer}, {"t", StateKind::counter}}));
}

TEST(StateKinds, ThatAreNotKnownAreNotWritten) {
  Metadata metadata;
  add_kinds(metadata, {{"w", StateKind::parameter}, {"w.exp_avg", StateKind::parameter}});
  EXPECT_EQ(metadata, Metadata());
  metadata["partita.kinds"] = "";
  EXPECT_FALSE(take_kinds(metadata)) << "written by older programs";
  EXPECT_EQ(metadata, Metadata());
}

}  // namespace
}  // namespace partita
