// The numbers of a training are named by what they measure, and a resumed training keeps those of the same name.

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
#include "frontend/data/views/part.h"
#include "frontend/data/views/rename.h"
#include "frontend/data/views/zip.h"
#include "ir/graph/builder.h"
#include "runtime/checkpoint/manifest.h"
#include "training/configuration.h"
#include "training/report/epoch_so_far.h"
#include "training/test_training.h"

namespace partita {
namespace {

constexpr double kMeasuredRate = 0.0625;

struct RateSetter : Callback {
  void on_train_begin(const TrainInfo& info) override { info.control->set_learning_rate(kMeasuredRate); }
};

/// An update of a program, w - rate g, and its name.
struct OwnUpdate {
  std::string name;
  bool is_set = true;
};

/// Trains one epoch more, and returns the first rate and what the training says of its checkpoint.
std::pair<double, std::string> trained(const std::string& folder, const OwnUpdate& own, int64_t epochs) {
  JobConfig config = small_config(1, OptimizerKind::sgd);
  config.schedule = {.kind = LrKind::constant, .learning_rate = 0.01};
  if (epochs > 1) config.files.resume_with = {"program"};
  Model model(small_network(), config, Place{.cores = 1});
  const auto update = [](Builder& builder, Value p, Value gradient, Value rate) {
    builder.store(p, builder.apply("sub", {p, builder.apply("mul", {rate, gradient})}));
  };
  if (own.is_set) model.update_by(update, own.name);
  std::string words;
  model.on_warning([&](const std::string& text) {
    if (text.find("the learning rate") != std::string::npos) words += text.substr(text.find("the learning rate"));
  });
  if (epochs > 1) model.resume(folder);
  EventRecorder recorder;
  RateSetter setter;
  FitOptions fit{.epochs = epochs, .callbacks = {&recorder}, .checkpoints = CheckpointOptions{.folder = folder}};
  if (epochs == 1) fit.callbacks.push_back(&setter);
  fit.prints = false;
  model.train(rows_of(Split::train), fit);
  return {recorder.steps.at(0).learning_rate, words};
}

TEST(Measures, RatesOfUpdatesOfAProgramAreNamedByThem) {
  const std::vector<OwnUpdate> updates{{"lion"}, {"tiger"}, {"", false}};
  for (const OwnUpdate& then : updates) {
    const TempDir folder;
    const std::string saved = (folder.path() / "run").string();
    trained(saved, then, 1);
    for (const OwnUpdate& now : updates) {
      const std::string copy = (folder.path() / ("of " + now.name)).string();
      std::filesystem::copy(saved, copy, std::filesystem::copy_options::recursive);
      const auto [rate, words] = trained(copy, now, 2);
      const auto named = [](const OwnUpdate& one) { return one.is_set ? one.name : "sgd"; };
      const bool is_same = named(then) == named(now);
      EXPECT_EQ(rate == kMeasuredRate, is_same) << named(then) << " " << named(now);
      EXPECT_EQ(words.find(fmt::format("of {}, constant 0.01 in the checkpoint, expected {}, constant 0.01",
                                       named(then), named(now))) == std::string::npos,
                is_same)
          << words;
      EXPECT_EQ(words.empty(), is_same) << words;
    }
  }
}

TEST(Measures, OfFilesFollowFromAConfigurationThatCanBeRead) {
  using Names = std::map<std::string, std::string>;
  const std::string good = "[optimizer]\nkind = \"sgd\"\n[schedule]\nkind = \"constant\"\nlearning_rate = 0.5\n";
  EXPECT_EQ(saved_measures({{"partita.config", good}}, "f"),
            (Names{{"learning_rate", "sgd, constant 0.5"}, {"loss_scale", "off"}}));
  EXPECT_EQ(saved_measures({{"partita.config", "[training]\nnew_option = 3"}}, "f"), Names());
  EXPECT_EQ(saved_measures({{"partita.config", "= ["}, {"partita.losses", "many"}}, "f"), Names());
  EXPECT_EQ(
      saved_measures({{"partita.config", "= ["}, {"partita.losses", "x"}, {"partita.measures.optimizer", "y"}}, "f"),
      (Names{{"optimizer", "y"}}));
  EXPECT_EQ(saved_measures({}, "f"), Names());
}

TEST(Measures, AScaleOfNoFileIsSaidWithoutOne) {
  std::string words;
  const auto say = [&](const std::string& text) { words = text; };
  EXPECT_FALSE(comparable_scale(LossScaleState{.scale = 8}, "", "static 8", "", say));
  EXPECT_EQ(
      words,
      "[resume] the scale of the loss begins anew, got 8 of what it does not name in the checkpoint, expected one "
      "of static 8");
}

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
    // A file with these losses can be read.
    TrainingPosition position{.step = 4, .batch = 1, .rows = 8, .epoch = epoch.losses()};
    TrainingPosition again{.metadata = metadata_of(position)};
    take_from_metadata(again, "f");
    EXPECT_EQ(again.epoch, epoch.losses());
    EXPECT_EQ(parse_manifest(print_manifest({.position = position}), "f").position.epoch, epoch.losses());
  }
}

}  // namespace
}  // namespace partita
