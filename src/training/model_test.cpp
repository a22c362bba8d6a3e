#include "training/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>
#include <thread>

#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/synthetic.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/data/transforms/image_maps.h"
#include "frontend/data/views/map.h"
#include "frontend/data/views/part.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/test_columns.h"
#include "ir/ops/registry.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/launch/fingerprint.h"
#include "training/rank_run.h"
#include "training/test_training.h"

namespace partita {
namespace {

TEST(Model, ResumedTrainingHasTheSameNumbers) {
  const TempDir dir;
  const std::string path = (dir.path() / "half.safetensors").string();
  EventRecorder whole, rest;
  Model model = small_model(2);
  CheckpointSaver saver(path, 6);
  LambdaCallback keep;  // copies the checkpoint of step 6, in the middle of the second epoch
  const std::string kept = (dir.path() / "kept.safetensors").string();
  keep.step_end = [&](const StepInfo& info) {
    if (info.global_step == 7) std::filesystem::copy_file(path, kept);
  };
  model.train(rows_of(Split::train), {.epochs = 3, .callbacks = {&whole, &saver, &keep}});
  ASSERT_EQ(whole.steps.size(), 3 * kSmallSteps);

  Model second = small_model(2);
  second.resume(kept);
  second.train(rows_of(Split::train), {.epochs = 3, .callbacks = {&rest}});
  ASSERT_EQ(rest.steps.size(), 3 * kSmallSteps - 6);
  for (size_t i = 0; i < rest.steps.size(); ++i) {
    EXPECT_EQ(rest.steps[i].loss, whole.steps[i + 6].loss) << i;
    EXPECT_EQ(rest.steps[i].learning_rate, whole.steps[i + 6].learning_rate);
    EXPECT_EQ(rest.steps[i].global_step, whole.steps[i + 6].global_step);
    EXPECT_EQ(rest.steps[i].epoch, whole.steps[i + 6].epoch);
  }
  // The last step was saved, too. Resuming from it takes no step.
  EventRecorder nothing;
  Model third = small_model(2);
  third.resume(path);
  third.train(rows_of(Split::train), {.epochs = 3, .callbacks = {&nothing}});
  EXPECT_EQ(nothing.steps.size(), 0);
  EXPECT_EQ(third.eval(rows_of(Split::test)).loss, model.eval(rows_of(Split::test)).loss);
}

TEST(Model, ResumesOnAnotherNumberOfRanks) {
  const TempDir dir;
  const std::string path = (dir.path() / "a.safetensors").string();
  EventRecorder whole, rest;
  CheckpointSaver saver(path, 0);
  small_model(1).train(rows_of(Split::train), {.epochs = 2, .callbacks = {&whole}});
  Model first = small_model(3);
  LambdaCallback cut;  // stops as an interruption would
  TrainControl* control = nullptr;
  cut.train_begin = [&](const TrainInfo& info) { control = info.control; };
  cut.step_end = [&](const StepInfo& info) { info.global_step == 5 ? control->stop() : void(); };
  first.train(rows_of(Split::train), {.epochs = 2, .callbacks = {&cut, &saver}});
  Model second = small_model(2);
  second.resume(path);
  second.train(rows_of(Split::train), {.epochs = 2, .callbacks = {&rest}});
  ASSERT_EQ(rest.steps.size(), whole.steps.size() - 5);
  for (size_t i = 0; i < rest.steps.size(); ++i) EXPECT_NEAR(rest.steps[i].loss, whole.steps[i + 5].loss, 1e-9);
}

TEST(Model, CallbacksDirectAllRanksFromTheBegin) {
  for (int ranks : {1, 2, 3}) {
    EventRecorder recorder;
    TrainControl* control = nullptr;
    LambdaCallback callback;
    callback.train_begin = [&](const TrainInfo& info) { (control = info.control)->set_learning_rate(0.125); };
    callback.step_end = [&](const StepInfo& info) {
      if (info.global_step == kSmallSteps + 1) control->stop();
    };
    Model model = small_model(ranks);
    model.train(rows_of(Split::train), {.epochs = 3, .callbacks = {&recorder, &callback}});
    ASSERT_EQ(recorder.steps.size(), kSmallSteps + 1);
    for (const StepInfo& step : recorder.steps) EXPECT_EQ(step.learning_rate, 0.125);
    ASSERT_EQ(recorder.epochs.size(), 2);  // with the partial epoch
    EXPECT_EQ(recorder.epochs[1].steps, 1);

    callback.train_begin = [&](const TrainInfo& info) { info.control->stop(); };
    EventRecorder none;
    small_model(ranks).train(rows_of(Split::train), {.callbacks = {&callback, &none}});
    EXPECT_EQ(none.steps.size(), 0);
    callback.train_begin = [](const TrainInfo&) { throw InvalidArgument("[test] refused"); };
    expect_error<InvalidArgument>([&] { small_model(ranks).train(rows_of(Split::train), {.callbacks = {&callback}}); },
                                  "[test] refused");
    callback.train_begin = [&](const TrainInfo& info) { info.control->save_checkpoint("/no/such/folder/file"); };
    EXPECT_THROW(small_model(ranks).train(rows_of(Split::train), {.callbacks = {&callback}}), RuntimeFailure);
  }
}

// The rate of a step is known before the one before it has ended.
TEST(Model, CallbacksSetRatesOfStepsAhead) {
  for (int ranks : {1, 2, 3, 4}) {
    EventRecorder recorder;
    TrainControl* control = nullptr;
    LambdaCallback callback;
    callback.train_begin = [&](const TrainInfo& info) {
      (control = info.control)->set_learning_rates(2, {0.25, 0.5, 0.125});
    };
    callback.step_end = [&](const StepInfo& info) {
      if (info.global_step == 6) control->set_learning_rates(8, {0.75, 1});
      if (info.global_step == 10) control->set_learning_rate(0.0625);
    };
    Model model = small_model(ranks);
    model.train(rows_of(Split::train), {.epochs = 3, .callbacks = {&recorder, &callback}});
    EXPECT_LT(recorder.steps.at(1).learning_rate, 0.1) << "that of the schedule";
    std::vector<double> expected{0.25, 0.5, 0.125, 0.125, 0.125, 0.125, 0.75, 1};
    expected.resize(recorder.steps.size() - 2, 0.0625);
    for (size_t s = 0; s < expected.size(); ++s) EXPECT_EQ(recorder.steps[s + 2].learning_rate, expected[s]) << s;
  }
  TrainControl control;
  control.set_learning_rates(2, {0.25, 0.5});
  control.set_learning_rates(5, {1});
  EXPECT_EQ(control.learning_rate(4), 0.5);
  EXPECT_EQ(control.learning_rate(5), 1);
  control = TrainControl();
  expect_error<InvalidArgument>([&] { control.set_learning_rates(0, {}); },
                                "[learning rate] no learning rates, got 0, expected 1 or more");
  expect_error<InvalidArgument>(
      [&] {
        control.set_learning_rates(0, {0.5, -1});
      },
      "[learning rate] not a learning rate, got -1, expected a number >= 0");
  EXPECT_FALSE(control.learning_rate(0));
}

TEST(Model, CallbacksReadStates) {
  for (int ranks : {1, 2, 3}) {
    const std::string name = "fc1.weight";
    std::vector<Array> read;
    TrainControl* control = nullptr;
    LambdaCallback callback;
    callback.train_begin = [&](const TrainInfo& info) {
      control = info.control;
      expect_error<InvalidArgument>([&] { control->state("none"); }, "[train] unknown state, got 'none'");
      read.push_back(control->state(name));
    };
    callback.step_end = [&](const StepInfo&) { read.push_back(control->state(name)); };
    callback.epoch_end = [&](const EpochInfo&) { read.push_back(control->state(name)); };
    callback.train_end = [&] { read.push_back(control->state(name)); };
    Model model = small_model(ranks);
    model.train(rows_of(Split::train), {.validation = rows_of(Split::test), .callbacks = {&callback}});
    ASSERT_EQ(read.size(), kSmallSteps + 3);
    const auto differ = [](const Array& a, const Array& b) {
      return std::memcmp(a.data(), b.data(), static_cast<size_t>(a.type().bytes())) != 0;
    };
    for (size_t i = 0; i < kSmallSteps; ++i) EXPECT_TRUE(differ(read[i], read[i + 1])) << i;
    for (size_t i = kSmallSteps; i < read.size(); ++i) EXPECT_FALSE(differ(read[i], model.states().at(name))) << i;
  }
}

/// Reads a state outside of events, where no rank waits for it: while a checkpoint is begun.
class ReadsWhenSaved : public Callback {
 public:
  std::string kept_as() const override { return "reads"; }
  void on_train_begin(const TrainInfo& info) override { control_ = info.control; }
  std::string saved() const override { return print(control_->state("net/fc1.weight").type()); }

 private:
  TrainControl* control_ = nullptr;
};

TEST(Model, StatesAreReadWithinEventsAlone) {
  const TempDir dir;
  for (const int ranks : {1, 3}) {
    ReadsWhenSaved reads;
    Model model = small_model(ranks);
    FitOptions fit{.callbacks = {&reads}};
    fit.checkpoints = CheckpointOptions{.folder = (dir.path() / "run").string(), .every = 1};
    expect_error<InvalidArgument>([&] { model.train(rows_of(Split::train), fit); }, "outside of the events");
    LambdaCallback other;
    other.train_begin = [&](const TrainInfo& info) {
      std::jthread([control = info.control] {
        expect_error<InvalidArgument>([&] { control->state("net/fc1.weight"); }, "in another thread");
      });
    };
    small_model(ranks).train(rows_of(Split::train), {.callbacks = {&other}});
  }
  expect_error<InvalidArgument>([] { TrainControl().state("any"); }, "this control belongs to no training");
}

TEST(Model, TwoSaversAtOneStep) {
  const TempDir dir;
  const std::string one = (dir.path() / "one").string(), two = (dir.path() / "two").string();
  CheckpointSaver often(one, 2), last(two, 0);
  std::vector<std::string> warnings;
  small_model(2).train(rows_of(Split::train), {.callbacks = {&often, &last}});
  EXPECT_TRUE(std::filesystem::exists(one) && std::filesystem::exists(two));
  // With no step left, a checkpoint is still written.
  const std::string three = (dir.path() / "three").string();
  CheckpointSaver again(three, 0);
  Model model = small_model(1);
  model.resume(two);
  model.train(rows_of(Split::train), {.callbacks = {&again}});
  EXPECT_TRUE(std::filesystem::exists(three));
}

TEST(Model, ABrokenTrainingLeavesModelAndCheckpoint) {
  const TempDir dir;
  const std::string path = (dir.path() / "a").string(), second = (dir.path() / "b").string();
  CheckpointSaver saver(path, 1);
  JobConfig config = small_config(1);
  config.schedule.steps = kSmallSteps;
  Model model(small_network(), config, Place{.cores = 1});
  model.train(rows_of(Split::train), {.max_steps = 2, .callbacks = {&saver}});
  const Metrics before = model.eval(rows_of(Split::test));
  LambdaCallback bad;
  TrainControl* control = nullptr;
  bad.train_begin = [&](const TrainInfo& info) { control = info.control; };
  bad.step_end = [&](const StepInfo&) { control->set_learning_rate(1e308); };
  EXPECT_THROW(model.train(rows_of(Split::train), {.callbacks = {&bad, &saver}}), RuntimeFailure);
  EXPECT_EQ(model.eval(rows_of(Split::test)).loss, before.loss);
  model.save_checkpoint(second);
  EventRecorder rest;
  model.resume(second);
  model.train(rows_of(Split::train), {.callbacks = {&rest}});
  EXPECT_EQ(rest.steps.at(0).global_step, 3);
  Model other = small_model(1);
  other.load(path);
  EXPECT_TRUE(std::isfinite(other.eval(rows_of(Split::test)).loss));  // no NaN was written to it
}

TEST(Model, RefusesLengthsAndInputsThatAreNone) {
  Model model = small_model(1);
  expect_error<InvalidArgument>([&] { model.train(rows_of(Split::train), {.epochs = 0}); }, "got 0 epochs");
  expect_error<InvalidArgument>([&] { model.train(rows_of(Split::train), {.max_steps = -1}); }, "at most -1 steps");
  expect_error<InvalidArgument>([&] { model.predict(Array(Type{DType::f64, {}})); }, "no batch of inputs, got f64[]");
  LearningRateScheduler infinite([](double, int64_t) { return 1e300; });
  Model narrow(small_network("hidden=4,layers=1,classes=4"),
               {.training = {.batch = kSmallBatch}, .optimizer = {.kind = OptimizerKind::sgd}});
  const DatasetPtr rows = map(make_synthetic({DType::u8, {8, 8, 1}}, 4, kSmallRows, 3, Split::train), {"image"},
                              chain({rescale(1.0 / 255, 0), hwc_to_chw()}));
  expect_error<InvalidArgument>([&] { narrow.train(rows, {.callbacks = {&infinite}}); }, "infinite in f32, got 1e+300");
}

// Rows in another float type than the network's are converted by the network, to the same bits as by a map.
TEST(Model, RowsOfAnotherElementTypeAreConverted) {
  const auto rows_in = [](DType dtype, int64_t rows) {
    Array images(Type{dtype, {rows, 1, 8, 8}}), labels(Type{DType::i32, {rows}});
    for (int64_t i = 0; i < images.type().elements(); ++i) images.set(i, static_cast<double>(i % 7) / 7);
    for (int64_t i = 0; i < rows; ++i) labels.set(i, static_cast<double>(i % 4));
    return memory_rows({{"image", images}, {"label", labels}});
  };
  const Network network = small_network("hidden=4,layers=1,classes=4");
  for (const DType own : {DType::f32, DType::f64}) {
    const DType other = own == DType::f32 ? DType::f64 : DType::f32;
    const DatasetPtr rows = rows_in(other, 12), converted = map(rows, {"image"}, cast(own));
    for (const int ranks : {1, 2, 3}) {
      for (const Parallel parallel : {Parallel::data, Parallel::automatic}) {
        const auto losses = [&](const DatasetPtr& given) {
          EventRecorder recorder;
          Model model(network, {.training = {.batch = 6, .epochs = 2, .dtype = own},
                                .ranks = {.count = ranks, .threads = 1},
                                .plan = {.options = {.parallel = parallel}}});
          model.train(given, {.validation = given, .callbacks = {&recorder}});
          std::vector<double> all{model.eval(given).loss, recorder.epochs.at(1).validation->loss};
          for (const StepInfo& step : recorder.steps) all.push_back(step.loss);
          all.push_back(model.predict(Batcher(given, {.batch = 4}).batch(0, 0).arrays[0]).at(0));
          return all;
        };
        EXPECT_EQ(losses(rows), losses(converted)) << ranks << " ranks, " << name_of(parallel);
      }
    }
  }
}

// A batch made by hand reaches the last check.
TEST(RankRun, BatchesThatDoNotFitAreRefused) {
  for (const int ranks : {1, 2}) {
    const Graph forward = build_graph(small_network("hidden=4,layers=1,classes=4"), all_ops(),
                                      {.batch = 4, .columns = labelled_columns({"image", {DType::f32, {1, 8, 8}}})});
    const auto device = make_cpu_device(all_ops(), 1);
    const Program program = compile(forward, all_ops(), device->catalog(), {.ranks = ranks});
    States states;
    add_initial_states(states, program.graph, 1);
    run_ranks(ranks, [&](Communicator& comm) {
      RankRun run(program, states, {}, comm);
      const auto feed = [&](const Type& image) {
        Batch batch;
        batch.columns = {{"image", {}}, {"ignored", {}}};
        batch.arrays = {Array(image), Array(Type{DType::u8, {1}})};
        run.feed(batch);
      };
      const int64_t own = 4 / comm.size();
      feed({DType::f32, {4, 1, 8, 8}});
      feed({DType::f32, {own, 1, 8, 8}});
      const auto refused = [&](const Type& image) {
        expect_error<InvalidArgument>([&] { feed(image); },
                                      fmt::format("[feed] a batch of 'image' does not fit the network, got {}, "
                                                  "expected f32[{},1,8,8]",
                                                  print(image), own));
      };
      refused({DType::f64, {4, 1, 8, 8}});
      refused({DType::f64, {own, 1, 8, 8}});
      refused({DType::i32, {own, 1, 8, 8}});
      refused({DType::f32, {own, 8, 8}});
      refused({DType::f32, {own, 1, 8, 9}});
      refused({DType::f32, {3, 1, 8, 8}});
      refused({DType::f32, {}});
    });
  }
}

TEST(Model, SavesNothingThatItDoesNotHave) {
  const TempDir dir;
  const std::string path = (dir.path() / "a").string(), second = (dir.path() / "b").string();
  const auto bytes_of = [](const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  Model trained = small_model(1);
  trained.train(rows_of(Split::train), {.max_steps = 2});
  trained.save(path);
  const std::string saved = bytes_of(path);
  ASSERT_GT(saved.size(), 4096u);

  const std::string before = "expected a training, an evaluation or a prediction first";
  Model fresh = small_model(1);
  expect_error<InvalidArgument>([&] { fresh.save(path); },
                                "no weights to save, got a model that was only constructed, " + before);
  expect_error<InvalidArgument>([&] { fresh.save_checkpoint(path); }, "no weights to save");
  fresh.load(path);
  expect_error<InvalidArgument>(
      [&] { fresh.save(path); },
      fmt::format("no weights to save, got weights loaded from {} that were not used yet, {}", path, before));
  EXPECT_EQ(bytes_of(path), saved);
  // Any use creates the states. The loaded weights are saved.
  fresh.predict(Array(Type{DType::f64, {1, 1, 8, 8}}));
  fresh.save(second);
  EXPECT_EQ(bytes_of(second), saved);
  expect_error<InvalidArgument>([&] { fresh.save_checkpoint(second); }, "no training to continue");
  EXPECT_EQ(bytes_of(second), saved);
  // A file that could not be read is requested again.
  Model broken = small_model(1);
  broken.load((dir.path() / "missing").string());
  for (int again = 0; again < 2; ++again) {
    EXPECT_THROW(broken.eval(rows_of(Split::test)), MissingFile);
    expect_error<InvalidArgument>([&] { broken.save(path); }, "that were not used yet");
  }
  EXPECT_EQ(bytes_of(path), saved);
  // A model with states takes weights at once, or stays unchanged.
  Model other = small_model(1);
  other.train(rows_of(Split::train), {.max_steps = 4});
  other.save(second);
  const std::string longer = bytes_of(second);
  EXPECT_NE(longer, saved);
  EXPECT_THROW(other.load((dir.path() / "missing").string()), MissingFile);
  other.save(second);
  EXPECT_EQ(bytes_of(second), longer);
  other.load(path);
  other.save(second);
  EXPECT_EQ(bytes_of(second), saved);
}

TEST(Model, SavesNothingWhileItTrains) {
  const TempDir dir;
  const std::string path = (dir.path() / "a").string(), second = (dir.path() / "b").string();
  Model model = small_model(2);
  LambdaCallback saves;
  int64_t calls = 0;
  saves.step_end = [&](const StepInfo&) {
    ++calls;
    expect_error<InvalidArgument>([&] { model.save(path); }, "the ranks of a training hold the states");
  };
  model.train(rows_of(Split::train), {.max_steps = 2, .callbacks = {&saves}});
  EXPECT_EQ(calls, 2);
  model.save(path);
  // A failed training leaves the earlier states; a fresh model has those of its seed.
  Model failing = small_model(2), fresh = small_model(1);
  LambdaCallback fails;
  fails.step_end = [](const StepInfo&) { throw InvalidArgument("[test] enough"); };
  expect_error<InvalidArgument>([&] { failing.train(rows_of(Split::train), {.callbacks = {&fails}}); }, "enough");
  failing.save(path);
  fresh.predict(Array(Type{DType::f64, {1, 1, 8, 8}}));
  fresh.save(second);
  const WeightsFile one = read_weights_file(path), other = read_weights_file(second);
  ASSERT_EQ(one.tensors.size(), other.tensors.size());
  for (const auto& [name, tensor] : one.tensors) {
    EXPECT_EQ(digest_of(tensor, 0), digest_of(other.tensors.at(name), 0)) << name;
  }
}

TEST(Model, CheckpointsOfAnotherTrainingAreRefused) {
  const TempDir dir;
  const std::string path = (dir.path() / "a.safetensors").string(), weights = (dir.path() / "w.safetensors").string();
  Model model = small_model(1);
  model.train(rows_of(Split::train), {.max_steps = 1});
  model.save_checkpoint(path);
  model.save(weights);
  Model other = small_model(1, OptimizerKind::sgd);
  other.resume(path);
  expect_error<InvalidFile>([&] { other.train(rows_of(Split::train), {}); }, "of another network or optimizer");
  Model momentum = small_model(1, OptimizerKind::momentum);
  momentum.resume(path);
  expect_error<InvalidFile>([&] { momentum.train(rows_of(Split::train), {}); }, "no tensor for");
  Model third = small_model(1);
  third.resume(weights);
  expect_error<InvalidFile>([&] { third.train(rows_of(Split::train), {}); }, "not a checkpoint, got no tensor");
  const auto resumed = [&](const std::function<void(JobConfig&)>& change, const DatasetPtr& rows) {
    JobConfig config = small_config(1);
    change(config);
    Model fresh(small_network(), config);
    fresh.resume(path);
    fresh.train(rows, {});
  };
  const auto as_before = [](JobConfig&) {};
  expect_error<InvalidFile>([&] { resumed([](JobConfig& c) { c.training.batch = 12; }, rows_of(Split::train)); },
                            "another batch, got 12, expected 24");
  expect_error<InvalidFile>([&] { resumed([](JobConfig& c) { c.training.seed = 7; }, rows_of(Split::train)); },
                            "another seed, got 7");
  expect_error<InvalidFile>([&] { resumed(as_before, take(rows_of(Split::train), 50)); },
                            "another number of rows, got 50, expected 100");
  // A checkpoint contains weights, so `load` accepts it.
  Model fourth = small_model(1);
  fourth.load(path);
  EXPECT_EQ(fourth.eval(rows_of(Split::test)).loss, model.eval(rows_of(Split::test)).loss);
}

// After a failed training, the model still has its checkpoint to resume, or still has no states.
TEST(Model, IsWhatItWasAfterATrainingThatFails) {
  const TempDir dir;
  const DatasetPtr rows = rows_of(Split::train);
  const std::string path = (dir.path() / "a.st").string();
  JobConfig config = small_config(2);
  config.schedule.steps = 2 * kSmallSteps;
  Model first(small_network(), config, Place{.cores = 1});
  first.train(rows, {.epochs = 1});
  first.save_checkpoint(path);
  Model second(small_network(), config, Place{.cores = 1});
  second.resume(path);
  EXPECT_THROW(second.train(rows, {.epochs = -1}), InvalidArgument);
  second.train(rows, {.epochs = 2});
  Model third(small_network(), config, Place{.cores = 1});
  third.resume(path);
  third.train(rows, {.epochs = 2});
  EXPECT_EQ(third.eval(rows).loss, second.eval(rows).loss);

  Model released = small_model(2);
  released.train(rows, {.epochs = 1, .keeps_states = false});
  released.resume((dir.path() / "missing").string());
  EXPECT_THROW(released.train(rows), MissingFile);
  released.resume("");
  EXPECT_THROW(released.train(rows), InvalidArgument);
}

TEST(Model, SchedulerSetsTheRateOfTheNextStep) {
  for (int ranks : {1, 2}) {
    EventRecorder recorder;
    LearningRateScheduler halving([](double rate, int64_t) { return rate / 2; });
    small_model(ranks).train(rows_of(Split::train), {.callbacks = {&recorder, &halving}});
    for (size_t i = 1; i < recorder.steps.size(); ++i) {
      EXPECT_EQ(recorder.steps[i].learning_rate, recorder.steps[i - 1].learning_rate / 2);
    }
    LearningRateScheduler bad([](double, int64_t) { return std::nan(""); });
    expect_error<InvalidArgument>([&] { small_model(ranks).train(rows_of(Split::train), {.callbacks = {&bad}}); },
                                  "not a learning rate, got nan");
  }
}

TEST(Model, StopsEarly) {
  for (int ranks : {1, 2}) {
    EventRecorder recorder;
    std::ostringstream out;
    EarlyStopping stopping({.patience = 1, .monitor = [](const EpochInfo& e) { return e.epoch < 2 ? 1.0 : 2.0; }}, out);
    small_model(ranks).train(rows_of(Split::train), {.epochs = 9, .callbacks = {&recorder, &stopping}});
    EXPECT_EQ(recorder.epochs.size(), 3);
    EXPECT_EQ(out.str(), "epoch: 3, stopped: no better than 1 for 2 epochs\n");
  }
}

TEST(EarlyStopping, LooksForTheBetterDirection) {
  std::ostringstream out;
  TrainControl control;
  EarlyStopping stopping({.larger_is_better = true, .monitor = [](const EpochInfo& e) { return e.loss; }}, out);
  stopping.on_train_begin({.control = &control});
  for (double number : {1.0, 2.0, 3.0}) stopping.on_epoch_end({.loss = number});
  EXPECT_FALSE(control.stopped());
  stopping.on_epoch_end({.loss = std::nan("")});
  EXPECT_TRUE(control.stopped());
  expect_error<InvalidArgument>([&] { EarlyStopping({.patience = -1}, out); }, "got patience -1");
  expect_error<InvalidArgument>([] { CheckpointSaver("a", -1); }, "got -1");
}

TEST(Model, TakesAndGivesStatesByName) {
  Model first = small_model(2), second = small_model(1);
  EXPECT_TRUE(first.states().empty());
  EventRecorder whole, rest;
  first.train(rows_of(Split::train), {.epochs = 1});
  second.assign(first.states());
  const Metrics expected = first.eval(rows_of(Split::test)), got = second.eval(rows_of(Split::test));
  EXPECT_NEAR(got.loss, expected.loss, 1e-12);
  Model third = small_model(1);
  States wrong = first.states();
  wrong.begin()->second = Array(Type{DType::f32, {1}});
  third.assign(wrong);
  expect_error<InvalidArgument>([&] { third.eval(rows_of(Split::test)); },
                                fmt::format("the value of '{}' does not fit, got f32[1]", wrong.begin()->first));
}

TEST(Model, UpdatesAsItIsTold) {
  const auto losses = [](OptimizerKind kind, const BuildUpdate& update) {
    Model model = small_model(2, kind);
    model.update_by(update);
    EventRecorder recorder;
    model.train(rows_of(Split::train), {.epochs = 2, .callbacks = {&recorder}});
    std::vector<double> found;
    for (const StepInfo& step : recorder.steps) found.push_back(step.loss);
    return found;
  };
  const std::vector<double> own =
      losses(OptimizerKind::adamw, [](Builder& builder, Value p, Value gradient, Value rate) {
        builder.store(p, builder.apply("sub", {p, builder.apply("mul", {rate, gradient})}));
      });
  const std::vector<double> expected = losses(OptimizerKind::sgd, nullptr);
  ASSERT_EQ(own.size(), expected.size());
  for (size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], expected[i], 1e-12);
}

}  // namespace
}  // namespace partita
