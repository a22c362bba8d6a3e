// An error ends a training while a checkpoint, files, a log and a trace are being written: what was recorded before the
// error is on the disk.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/saved_states.h"
#include "training/test_training.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kEndingStep = 3;  // counted from 1; the checkpoint is of the step before

enum class Ending { loss, step_end, other_exception, epoch_end, validated_epoch_end, observer, bad_label };

constexpr std::array kEndings{
    Ending::loss,     Ending::step_end, Ending::other_exception, Ending::epoch_end, Ending::validated_epoch_end,
    Ending::observer, Ending::bad_label};

struct FailingCallback : EventRecorder {
  explicit FailingCallback(Ending ending) : ending_(ending) {}
  void on_step_end(const StepInfo& info) override {
    EventRecorder::on_step_end(info);
    if (info.global_step != kEndingStep) return;
    if (ending_ == Ending::step_end || ending_ == Ending::observer) throw InvalidArgument("[mine] a bad step");
    if (ending_ == Ending::other_exception) throw std::out_of_range("[mine] a bad step");
  }
  void on_epoch_end(const EpochInfo& info) override {
    EventRecorder::on_epoch_end(info);
    const bool is_meant = ending_ == Ending::epoch_end || ending_ == Ending::validated_epoch_end;
    if (is_meant && info.epoch == kEndingStep) throw InvalidArgument("[mine] a bad step");
  }

 private:
  Ending ending_;
};

/// Rows of kEndingStep and more steps. Where an epoch has to end with an error, an epoch is one step.
DatasetPtr rows_that_end(Ending ending, int64_t steps) {
  const int64_t count = kSmallBatch * steps;
  Array images(Type{DType::f64, {count, 8}}), labels(Type{DType::i32, {count}});
  for (int64_t i = 0; i < images.type().elements(); ++i) images.set(i, static_cast<double>(i % 7) / 7);
  const int64_t bad = (kEndingStep - 1) * kSmallBatch + 5;
  if (ending == Ending::loss) images.set(bad * 8, NAN);
  if (ending == Ending::bad_label) labels.set(bad, 99);
  return memory_rows({{"image", images}, {"label", labels}});
}

struct Ended {
  std::string error;
  std::vector<std::string> words;
  size_t steps = 0;
};

class WorkInFlight : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }

  JobConfig config_of(int ranks) const {
    JobConfig config = small_config(ranks);
    config.schedule = {.learning_rate = 0.01};
    config.training.epochs = 5;
    config.files.log = path("log");
    config.files.trace = path("trace");
    config.files.trace_steps = 10;
    return config;
  }

  Ended train(Ending ending, int ranks, CheckpointOptions checkpoints) {
    const bool is_epoch = ending == Ending::epoch_end || ending == Ending::validated_epoch_end;
    const DatasetPtr rows = rows_that_end(ending, is_epoch ? 1 : 5);
    FailingCallback failing(ending);
    FitOptions fit{.checkpoints = checkpoints, .prints = false};
    (ending == Ending::observer ? fit.observers : fit.callbacks).push_back(&failing);
    if (ending == Ending::validated_epoch_end) fit.validation = rows;
    Ended ended;
    Model model(small_network("hidden=16,layers=1,classes=4"), config_of(ranks), Place{.cores = 1});
    model.on_warning([&](const std::string& text) {
      if (!text.starts_with("[threads]")) ended.words.push_back(text);
    });
    try {
      model.train(rows, fit);
    } catch (const std::exception& error) {
      ended.error = error.what();
    }
    ended.steps = failing.steps.size();
    return ended;
  }

  void clear() const {
    for (const auto& entry : fs::directory_iterator(dir_.path())) fs::remove_all(entry.path());
  }

  TempDir dir_;
};

std::string whole_text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int parts_in(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(WorkInFlight, IsCompletedWhenAllRanksEnd) {
  for (const Ending ending : kEndings) {
    for (const int ranks : {1, 2, 3}) {
      for (const bool integrated : {false, true}) {
        clear();
        const std::string where = fmt::format("{} {} {}", static_cast<int>(ending), ranks, integrated);
        const Ended ended = train(ending, ranks, {.folder = path("run"), .every = 1, .integrated = integrated});
        const bool is_mine = ending != Ending::loss && ending != Ending::bad_label;
        EXPECT_EQ(ended.error.find("[mine] a bad step") != std::string::npos, is_mine) << where << " " << ended.error;
        if (ending == Ending::loss) {
          EXPECT_TRUE(ended.error.starts_with("[train] the loss is not finite")) << where << " " << ended.error;
        }
        EXPECT_TRUE(ended.words.empty()) << where << " " << ended.words.at(0);
        // A label that is out of range ends the rank that reads it in the middle of a step.
        const bool is_lost = ending == Ending::bad_label && ranks > 1;
        const int64_t last = kEndingStep - (is_lost ? 2 : 1);
        const auto newest = newest_checkpoint(path("run"), [](const std::string& text) { ADD_FAILURE() << text; });
        ASSERT_TRUE(newest) << where;
        EXPECT_EQ(newest->step, last) << where;
        SavedStates states(newest->path);
        EXPECT_NO_THROW(verify_states(states)) << where;

        EXPECT_EQ(parts_in(whole_text_of(path("log")), ",\"loss\":"), static_cast<int>(ended.steps)) << where;
        const std::string trace = whole_text_of(path("trace"));
        EXPECT_TRUE(trace.ends_with("}\n")) << where;
        for (int rank = 0; rank < ranks && !is_lost; ++rank) {
          EXPECT_NE(trace.find(fmt::format("\"rank {}\"", rank)), std::string::npos) << where << trace.substr(0, 999);
        }
      }
    }
  }
}

// The checkpoint is the one that a training without the error writes.
TEST_F(WorkInFlight, HasTheBitsOfATrainingWithoutTheError) {
  for (const int ranks : {1, 3}) {
    clear();
    train(Ending::loss, ranks, {.folder = path("ended"), .every = kEndingStep - 1});
    JobConfig config = config_of(ranks);
    Model model(small_network("hidden=16,layers=1,classes=4"), config, Place{.cores = 1});
    model.train(
        rows_that_end(Ending::loss, 5),
        {.max_steps = kEndingStep - 1, .checkpoints = CheckpointOptions{.folder = path("whole")}, .prints = false});
    SavedStates ended(path("ended")), whole(path("whole"));
    EXPECT_TRUE(compare_states(ended, whole).empty()) << ranks;
  }
}

// A checkpoint that cannot be written does not hide the error of the training.
TEST_F(WorkInFlight, ThatFailsIsAWarning) {
  struct Removing : FailingCallback {
    using FailingCallback::FailingCallback;
    std::string folder;
    void on_step_end(const StepInfo& info) override {
      if (info.global_step == kEndingStep) fs::remove_all(folder);
      FailingCallback::on_step_end(info);
    }
  };
  for (const bool stops : {false, true}) {
    clear();
    Removing removing(Ending::step_end);
    removing.folder = path("run");
    std::vector<std::string> words;
    Model model(small_network("hidden=16,layers=1,classes=4"), config_of(2), Place{.cores = 1});
    model.on_warning([&](const std::string& text) { words.push_back(text); });
    std::string error;
    try {
      model.train(rows_that_end(Ending::step_end, 5),
                  {.callbacks = {&removing},
                   .checkpoints = CheckpointOptions{.folder = path("run"), .every = 1, .stop_on_error = stops},
                   .prints = false});
    } catch (const InvalidArgument& failure) {
      error = failure.what();
    }
    EXPECT_EQ(error, "[mine] a bad step");
    EXPECT_EQ(std::ranges::count_if(words, [](const std::string& text) { return text.find("[checkpoint]") == 0; }), 1)
        << fmt::format("{}", fmt::join(words, "\n"));
  }
}

// Files that callbacks ask for are complete, too, and a failure to write one is said.
TEST_F(WorkInFlight, FilesOfCallbacksAreComplete) {
  for (const bool fails : {false, true}) {
    for (const int ranks : {1, 3}) {
      clear();
      const std::string folder = path("files");
      fs::create_directory(folder);
      FailingCallback failing(Ending::step_end);
      LambdaCallback saving;
      TrainControl* control = nullptr;
      saving.train_begin = [&](const TrainInfo& info) { control = info.control; };
      saving.step_end = [&](const StepInfo& info) {
        if (info.global_step == kEndingStep - 1) control->save({.path = folder + "/a", .background = true});
        if (fails && info.global_step == kEndingStep - 1) fs::remove_all(folder);
      };
      std::vector<std::string> words;
      Model model(small_network("hidden=16,layers=1,classes=4"), config_of(ranks), Place{.cores = 1});
      model.on_warning([&](const std::string& text) {
        if (text.starts_with("[save]")) words.push_back(text);
      });
      EXPECT_THROW(model.train(rows_that_end(Ending::step_end, 5), {.callbacks = {&saving, &failing}, .prints = false}),
                   InvalidArgument);
      EXPECT_EQ(words.size(), fails ? 1u : 0u);
      if (fails) continue;
      SavedStates states(folder + "/a");
      EXPECT_EQ(states.position()->step, kEndingStep - 1) << ranks;
    }
  }
}

}  // namespace
}  // namespace partita
