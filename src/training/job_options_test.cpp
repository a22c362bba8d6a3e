// Every option of a job either takes effect in a program that sets its configuration field, or is refused by name. A
// new option fails here until its case is in the list.

#include <gtest/gtest.h>

#include <fstream>

#include "frontend/data/readers/test_files.h"
#include "frontend/network/functions.h"
#include "frontend/network/initializers.h"
#include "frontend/network/layers/layers.h"
#include "ir/ops/registry.h"
#include "ir/optimizers/registry.h"
#include "ir/orders/text.h"
#include "job/options.h"
#include "planner/plan_file/plan_file.h"
#include "support/matches.h"
#include "training/model.h"
#include "training/test_options.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

const Texts kTwoRanks{{"ranks.count", {"2"}}};
const Texts kStep{{"schedule.kind", {"step"}}, {"schedule.step_every", {"2"}}};
const Texts kAdam{{"optimizer.kind", {"adam"}}};
const Texts kGpt{{"model", {"gpt:layers=2,hidden=16,heads=2,seq=8"}},
                 {"training.batch", {"8"}},
                 {"training.steps", {"1"}},
                 {"training.evaluate", {"false"}},
                 {"ranks.count", {"2"}},
                 {"plan.parallel", {"auto"}}};
const Texts kCheckpoint{{"files.checkpoint", {"DIR/run/kept"}}, {"files.checkpoint_every", {"1"}}};
const Texts kFalls{{"training.validate_every", {"1"}},
                   {"files.checkpoint_keep", {"1"}},
                   {"schedule.learning_rate", {"0"}}};  // the first test is the best
const Texts kF16{{"training.precision", {"f16"}}};
const Texts kTrace{{"files.trace", {"DIR/run/trace.json"}}};

Texts operator+(Texts first, const Texts& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Cases of what is computed, and for how long.
std::vector<OptionCase> computed_cases() {
  return {
      {"model", {"mlp:hidden=9,layers=1,classes=4"}, Seen::program},
      {"data.source", {"npy:DIR/x0.npy,DIR/y1.npy,DIR/x0.npy,DIR/y1.npy"}, Seen::losses},
      {"data.resize", {"6"}, Seen::program},
      {"data.augment", {"true"}, Seen::losses},
      {"training.batch", {"12"}, Seen::program},
      {"training.epochs", {"3"}, Seen::losses, {{"training.steps", {"0"}}}},
      {"training.steps", {"3"}, Seen::losses},
      {"training.loss", {"expanded"}, Seen::program},
      {"training.ignore_index", {"0"}, Seen::losses},
      {"training.dtype", {"f64"}, Seen::program},
      {"training.precision", {"bf16"}, Seen::program},
      {"training.precision_of", {"net/fc1=f32"}, Seen::program, {{"training.precision", {"bf16"}}}},
      {"training.residual", {"f32"}, Seen::program, kGpt + Texts{{"training.precision", {"bf16"}}}},
      {"training.reduce_dtype", {"bf16"}, Seen::program, kTwoRanks},
      {"training.loss_scaling", {"dynamic"}, Seen::program},
      {"training.loss_scale", {"1024"}, Seen::program},
      {"training.loss_scale_window", {"1"}, Seen::losses, kF16 + Texts{{"training.loss_scale_factor", {"3"}}}},
      {"training.loss_scale_factor", {"3"}, Seen::losses, kF16 + Texts{{"training.loss_scale_window", {"1"}}}},
      {"training.on_nan", {"skip"}, Seen::program},
      {"training.seed", {"2"}, Seen::losses},
      {"training.batch_norm", {"global"}, Seen::program, kTwoRanks, true},
      {"training.gradients", {"sum"}, Seen::losses, kTwoRanks},
      {"training.micro_loss", {"sum"}, Seen::losses, {{"plan.micro_batches", {"2"}}}},
      {"training.validate", {"true"}, Seen::printed, {}, false, "test loss is"},
      {"training.validate_every", {"2"}, Seen::printed, {}, false, "step: 2, test loss is"},
      {"training.patience", {"0"}, Seen::losses, {{"schedule.learning_rate", {"0"}}, {"training.steps", {"30"}}}},
      {"training.evaluate", {"false"}, Seen::metrics},
      {"optimizer.kind", {"sgd"}, Seen::losses},
      {"optimizer.weight_decay", {"0.1"}, Seen::losses},
      {"optimizer.decay_vectors", {"false"}, Seen::losses, {{"optimizer.weight_decay", {"0.5"}}}},
      {"optimizer.no_decay", {"fc1"}, Seen::losses, {{"optimizer.weight_decay", {"0.5"}}}},
      {"optimizer.rate_of", {"fc1.*=0.1"}, Seen::losses},
      {"optimizer.clip_norm", {"0.001"}, Seen::losses},
      {"optimizer.ema", {"0.5"}, Seen::program},
      {"schedule.learning_rate", {"0.2"}, Seen::losses},
      {"schedule.kind", {"cosine"}, Seen::losses},
      {"schedule.warmup_steps", {"2"}, Seen::losses},
      {"schedule.steps", {"8"}, Seen::losses, {{"schedule.kind", {"linear"}}}},
      {"schedule.step_every", {"2"}, Seen::losses, {{"schedule.kind", {"step"}}}},
      {"schedule.step_factor", {"0.5"}, Seen::losses, kStep},
      {"schedule.polynomial_power", {"2"}, Seen::losses, {{"schedule.kind", {"polynomial"}}}},
      {"schedule.final_rate", {"0.01"}, Seen::losses, {{"schedule.kind", {"polynomial"}}}},
      {"evaluation.batch", {"7"}, Seen::evaluation, {}, false, "in batches of 6 rows"},
      {"evaluation.top", {"2"}, Seen::metrics, {}, false, "in top 2"},
      {"evaluation.metrics", {"f1_macro"}, Seen::metrics, {}, false, "f1_macro"},
      {"ranks.count", {"2"}, Seen::program},
      {"ranks.threads", {"2"}, Seen::warnings, {}, false, "1 ranks x 2 threads share 1 cores"},
      {"ranks.kernels", {"reference"}, Seen::program},
      {"ranks.collectives", {"whole"}, Seen::error, {}, false, "[--collectives] programs with collectives run on"},
      {"ranks.attention", {"fused"}, Seen::error, {}, false, "[--attention] fused attention is that of cuDNN, got"},
      {"ranks.device", {"gpu"}, Seen::error, {}, false, "[device] a device that does not exist, got gpu"},
  };
}

/// Cases of every option of every optimizer.
std::vector<OptionCase> optimizer_cases() {
  std::vector<OptionCase> cases;
  for (const OptimizerDef& optimizer : all_optimizers()) {
    for (const OptimizerOption& option : optimizer.options) {
      std::string value = fmt::format("{}", option.most <= 1 ? 0.5 : 0.5 * option.standard);
      if (option.is_switch) value = option.standard > 0 ? "false" : "true";
      if (option.is_whole) value = fmt::format("{}", option.standard - 1);
      Texts others{{"optimizer.kind", {optimizer.name}}};
      // With a large epsilon it shows where it is added.
      if (option.is_switch && optimizer.find("epsilon") != nullptr) others.push_back({"optimizer.epsilon", {"0.1"}});
      cases.push_back({"optimizer." + option.name, {value}, Seen::losses, others});
    }
  }
  return cases;
}

/// Cases of how the work is split.
std::vector<OptionCase> plan_cases() {
  const Texts stages = kTwoRanks + Texts{{"plan.stages", {"2"}}};
  return {
      {"plan.parallel", {"none"}, Seen::program, kTwoRanks},
      {"plan.uneven",
       {"error"},
       Seen::error,
       {{"ranks.count", {"2"}}, {"plan.parallel", {"hybrid"}}, {"training.batch", {"25"}}},
       false,
       "25"},
      {"plan.micro_batches", {"2"}, Seen::program},
      {"plan.stages", {"2"}, Seen::program, kTwoRanks},
      {"plan.stage", {"net/fc1=0", "net/fc2=1"}, Seen::program, kTwoRanks},
      {"plan.order", {"gpipe"}, Seen::program, stages + Texts{{"plan.micro_batches", {"4"}}}},
      {"plan.interleave",
       {"2"},
       Seen::program,
       {{"ranks.count", {"4"}},
        {"model", {"mlp:hidden=8,layers=3,classes=4"}},
        {"plan.micro_batches", {"4"}},
        {"plan.stages", {"4"}}}},
      {"plan.recompute_layers", {"net/h/0=full"}, Seen::program, kGpt},
      {"plan.zero", {"1"}, Seen::program, kTwoRanks + Texts{{"model", {"mlp:hidden=600,layers=1,classes=4"}}}},
      {"plan.zero_group",
       {"2"},
       Seen::program,
       {{"ranks.count", {"4"}}, {"plan.zero", {"1"}}, {"plan.zero_threshold", {"0"}}}},
      {"plan.zero_threshold", {"0"}, Seen::program, kTwoRanks + Texts{{"plan.zero", {"1"}}}},
      {"plan.search", {"dynamic"}, Seen::program, kGpt},
      {"plan.dataset_strategy", {"full_batch"}, Seen::program, kGpt},
      {"plan.recompute", {"full"}, Seen::program, kGpt},
      {"plan.tensor_parallel", {"2"}, Seen::program, kGpt},
      {"plan.context_parallel", {"2"}, Seen::program, kGpt},
      {"plan.sequence_parallel", {"true"}, Seen::program, kGpt + Texts{{"plan.tensor_parallel", {"2"}}}},
      {"plan.shard", {"net/h/0/attn/q/matmul=((1,1,1),(2,1))"}, Seen::program, kGpt},
      {"plan.no_pass", {"pack_reductions"}, Seen::program, kTwoRanks},
  };
}

/// Cases of what is read, written and printed.
std::vector<OptionCase> file_cases() {
  return {
      {"files.load", {"DIR/weights.safetensors"}, Seen::losses},
      {"files.save", {"DIR/run/weights.safetensors"}, Seen::files},
      {"files.load_averages",
       {"true"},
       Seen::error,
       {{"files.load", {"DIR/weights.safetensors"}}},
       false,
       "no averages"},
      {"files.save_averages",
       {"true"},
       Seen::printed,
       {{"files.save", {"DIR/run/weights.safetensors"}}, {"optimizer.ema", {"0.5"}}}},
      {"files.checkpoint", {"DIR/run/kept"}, Seen::files, {}, false, "kept/step_4/manifest"},
      {"files.checkpoint_every", {"2"}, Seen::files, {{"files.checkpoint", {"DIR/run/kept"}}}, false, "kept/step_2/"},
      {"files.checkpoint_seconds",
       {"0.000001"},
       Seen::files,
       {{"files.checkpoint", {"DIR/run/kept"}}},
       false,
       "step_1/"},
      {"files.checkpoint_keep", {"1"}, Seen::files, kCheckpoint},
      {"files.keep_best", {"loss"}, Seen::files, kCheckpoint + kFalls},
      {"files.restore_best",
       {"true"},
       Seen::printed,
       kCheckpoint + kFalls + Texts{{"files.keep_best", {"loss"}}},
       false,
       "the best loss"},
      {"files.checkpoint_async", {"off"}, Seen::files_of_steps, kCheckpoint},
      {"files.checkpoint_integrated", {"true"}, Seen::files, kCheckpoint + kTwoRanks},
      {"files.resume", {"DIR/before"}, Seen::losses},
      {"files.log", {"DIR/run/log.jsonl"}, Seen::files},
      {"files.run", {"DIR/run/recorded"}, Seen::files, {}, false, "recorded/events.jsonl"},
      {"files.tensorboard", {"DIR/run/events"}, Seen::files, {}, false, "events/events.out.tfevents."},
      {"files.trace", {"DIR/run/trace.json"}, Seen::files},
      {"files.trace_steps", {"1"}, Seen::files, kTrace},
      {"files.cluster", {"no such cluster"}, Seen::error, kTrace, false, "no such cluster"},
      {"files.dump", {"DIR/run/dump"}, Seen::files},
      {"files.log_dir", {"DIR/run/logs"}, Seen::files, {}, false, "logs/rank_0.log"},
      {"files.flight_record", {"DIR/run/record"}, Seen::files, {}, false, "record/rank_0/flight_record"},
      {"console.per_print_times", {"1"}, Seen::printed, {}, false, "epoch: 1 step: 2, loss is"},
      {"console.quiet", {"true"}, Seen::printed},
      {"console.verbose", {"true"}, Seen::printed, {}, false, "passes:"},
  };
}

/// Options whose effect needs more to be seen; each has a test below, that of console.ranks in
/// src/job/process_test.cpp, that of files.adapters in tests/dist/adapters_test.cpp.
const std::set<std::string> kTested{
    "data.separate_documents", "force",         "plan.file",           "files.adapters",     "files.resume_with",
    "files.checkpoint_errors", "console.ranks", "ranks.deterministic", "ranks.device_memory"};

TEST_F(ObeyedOptions, EveryOneIsDecided) {
  std::set<std::string> decided = kTested;
  for (const auto& cases : {computed_cases(), plan_cases(), file_cases()}) {
    for (const OptionCase& one : cases) EXPECT_TRUE(decided.insert(one.key).second) << one.key;
  }
  for (const OptionCase& one : optimizer_cases()) decided.insert(one.key);  // several optimizers have one
  for (const JobOption& option : job_options()) {
    EXPECT_EQ(decided.erase(option.key()), 1u) << option.key() << " is new: show its effect on Model, or refuse it";
  }
  EXPECT_TRUE(decided.empty()) << *decided.begin() << " is no option";
}

TEST_F(ObeyedOptions, HaveTheirEffectOnWhatIsComputed) {
  write_rows(dir_.path(), 8, /*shift=*/1);
  for (const OptionCase& one : computed_cases()) check(one);
  for (const OptionCase& one : optimizer_cases()) check(one);
  for (const OptionCase& one : plan_cases()) check(one);
}

TEST_F(ObeyedOptions, HaveTheirEffectOnWhatIsReadAndWritten) {
  {
    const Printed printed;
    Model before(config_of({{"files.checkpoint", {"DIR/before"}},
                            {"files.save", {"DIR/weights.safetensors"}},
                            {"training.steps", {"2"}}}),
                 Place{.cores = 1});
    before.train();
  }
  for (const OptionCase& one : file_cases()) check(one);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_F(ObeyedOptions, ResumeWithAcceptsADifference) {
  const Printed printed;
  const Texts resumes{{"files.resume", {"DIR/before"}}, {"schedule.learning_rate", {"0.05"}}};
  Model(config_of({{"files.checkpoint", {"DIR/before"}}, {"training.steps", {"2"}}}), Place{.cores = 1}).train();
  EXPECT_NE(observe(resumes, false).at(Seen::error).find("schedule.learning_rate = 0.05 instead of 0.1"),
            std::string::npos);
  const Observation accepted =
      observe(resumes + Texts{{"files.resume_with", {"schedule.learning_rate"}}}, /*has_norm=*/false);
  EXPECT_FALSE(accepted.contains(Seen::error));
  EXPECT_EQ(accepted.at(Seen::losses).find(" at 0.1"), std::string::npos) << "the new rate";
  // Without a checkpoint in the folder, "latest" starts from the beginning.
  const Texts latest{{"files.resume", {"latest"}}};
  EXPECT_NE(observe(latest + kCheckpoint, false).at(Seen::printed).find("the training begins"), std::string::npos);
  EXPECT_EQ(observe(latest, false).at(Seen::error),
            "[Model] files.resume: no folder to search, got latest without files.checkpoint, expected files.checkpoint "
            "= DIR or files.resume = DIR");
}

// A CPU repeats its bits anyway. Here no plugin can be opened, so a device is refused either way.
TEST_F(ObeyedOptions, DeterministicChangesDevicesAlone) {
  const Texts deterministic{{"ranks.deterministic", {"true"}}};
  EXPECT_EQ(observe(deterministic, false), base({}, false));
  const Texts device{{"ranks.device", {"oneapi"}}};
  EXPECT_EQ(observe(device, false).at(Seen::error).find("[--deterministic]"), std::string::npos);
  EXPECT_EQ(
      observe(device + deterministic, false).at(Seen::error),
      "[--deterministic] the plugin has no flag for it, got oneapi, expected cpu, xla:cpu, cuda, rocm or tpu, or no "
      "--deterministic");
}

TEST_F(ObeyedOptions, ShareOfMemoryIsThatOfGpusAlone) {
  const Texts half{{"ranks.device_memory", {"0.5"}}};
  for (const char* device : {"cpu", "oneapi"}) {
    EXPECT_EQ(
        observe(Texts{{"ranks.device", {device}}} + half, false).at(Seen::error),
        fmt::format("[--device-memory] has no effect, got 0.5 on {}, expected cuda or rocm, or no --device-memory",
                    device));
  }
  const std::string error = observe(Texts{{"ranks.device", {"cuda"}}} + half, false).at(Seen::error);
  EXPECT_EQ(error.find("[--device-memory]"), std::string::npos) << error;
}

TEST_F(ObeyedOptions, CheckpointErrorsEndATrainingOrAreWarnedOf) {
  const Printed printed;
  for (const std::string what : {"warn", "stop"}) {
    const fs::path folder = dir_.path() / what;
    Model model(config_of({{"files.checkpoint", {folder.string()}},
                           {"files.checkpoint_every", {"1"}},
                           {"files.checkpoint_errors", {what}}}),
                Place{.cores = 1});
    int64_t warnings = 0, steps = 0;
    model.on_warning([&](const std::string&) { ++warnings; });
    LambdaCallback breaks;
    breaks.step_end = [&](const StepInfo& info) {
      steps = info.global_step;
      if (steps > 1) return;
      fs::remove_all(folder);
      std::ofstream(folder) << "no folder";
    };
    const std::string error = error_of([&] { model.train({.callbacks = {&breaks}}); });
    EXPECT_EQ(error.empty(), what == "warn") << error;
    EXPECT_EQ(steps == 4, what == "warn") << steps;
    EXPECT_EQ(warnings > 0, what == "warn");
  }
}

TEST_F(ObeyedOptions, APlanOfAFileIsRun) {
  const Printed printed;
  std::string plan;
  LambdaCallback keep;
  const JobConfig planned = config_of(kTwoRanks);
  keep.train_begin = [&](const TrainInfo& info) {
    PlanFile file = *plan_file_of(completed(planned, Place{.cores = 1}), *info.program, all_ops());
    file.cluster = "cpu";
    plan = print(file);
  };
  Model(planned, Place{.cores = 1}).train({.callbacks = {&keep}});
  std::ofstream(dir_.path() / "plan.txt") << plan;
  const Texts runs_plan{{"plan.file", {"DIR/plan.txt"}}};
  EXPECT_EQ(Model(config_of(runs_plan), Place{.cores = 1}).config().ranks.count, 2);
  EXPECT_EQ(observe(runs_plan, false).at(Seen::losses), observe(kTwoRanks, false).at(Seen::losses));
  EXPECT_EQ(observe(runs_plan + Texts{{"plan.micro_batches", {"2"}}}, false).at(Seen::error),
            fmt::format("[Model] plan.micro_batches: {} was made for another value, got 2, expected 1, or another plan",
                        (dir_.path() / "plan.txt").string()));
}

// The states would need 4 TiB. A machine that promises any amount of memory is not asked to begin.
TEST_F(ObeyedOptions, ForceBeginsWhatDoesNotFit) {
  std::ifstream overcommit("/proc/sys/vm/overcommit_memory");
  if (overcommit.get() == '1') GTEST_SKIP() << "memory is promised without limits";
  const auto refused = [](bool force) {
    const auto forward = [](Context& context, Columns& columns) -> NamedValues {
      const Value w = context.parameter("w", {int64_t{1} << 39}, normal_initializer(0, 1));
      return {{"number", reduce_mean(columns.at("image")) * reduce_mean(w)}};
    };
    const auto loss = [](Context&, Columns&, const NamedValues& outputs) -> NamedValues {
      return {{"loss", find_output(outputs, "number")}};
    };
    JobConfig config{.training = {.batch = kSmallBatch, .dtype = DType::f64}, .ranks = {.threads = 1}, .force = force};
    try {
      return error_of([&] { Model({"huge", forward, loss}, config, Place{.cores = 1}).train(rows_of(Split::train)); });
    } catch (const std::bad_alloc&) {  // it began
      return std::string("no memory");
    }
  };
  EXPECT_NE(refused(false).find("--force"), std::string::npos) << refused(false);
  EXPECT_EQ(refused(true).find("--force"), std::string::npos) << refused(true);
}

TEST_F(ObeyedOptions, WithoutAnEffectAreRefusedByName) {
  const auto refused = [&](const Texts& texts) {
    const Observation seen = observe(texts, /*has_norm=*/false);
    return seen.contains(Seen::error) ? seen.at(Seen::error) : std::string();
  };
  const auto optimizer_refusal = [](const std::string& option, const std::string& kind) {
    const std::vector<std::string> names = optimizers_with(option);
    std::string all = fmt::format("{}", fmt::join(names.begin(), names.end() - 1, ", "));
    all += (names.size() > 1 ? " or " : "") + names.back();
    return fmt::format("[Model] optimizer.{} has no effect, got optimizer.kind = {}, expected optimizer.kind = {}",
                       option, kind, all);
  };
  EXPECT_EQ(refused({{"optimizer.beta1", {"0.5"}}}), optimizer_refusal("beta1", "momentum"));
  EXPECT_EQ(refused(kAdam + Texts{{"optimizer.nesterov", {"true"}}}), optimizer_refusal("nesterov", "adam"));
  EXPECT_EQ(refused(kAdam + Texts{{"optimizer.dampening", {"0.5"}}}),
            "[Model] optimizer.dampening has no effect, got optimizer.kind = adam, expected optimizer.kind = momentum");
  EXPECT_EQ(refused({{"schedule.steps", {"9"}}}),
            "[Model] schedule.steps has no effect, got schedule.kind = constant, expected schedule.kind = linear, "
            "cosine, step, polynomial or one_cycle");
  EXPECT_EQ(refused(kStep + Texts{{"schedule.steps", {"9"}}}),
            "[Model] schedule.steps has no effect, got schedule.step_every = 2, expected only one of the two");
  EXPECT_EQ(refused({{"schedule.step_factor", {"0.5"}}}),
            "[Model] schedule.step_factor has no effect, got schedule.kind = constant, expected schedule.kind = step");
  EXPECT_EQ(
      refused({{"plan.dataset_strategy", {"full_batch"}}}),
      "[Model] plan.dataset_strategy has no effect, got plan.parallel = data, expected plan.parallel = semi or auto");
  EXPECT_EQ(refused({{"plan.zero_group", {"2"}}}),
            "[Model] plan.zero_group has no effect, got plan.zero = 0, expected 1, 2 or 3");
  EXPECT_EQ(refused({{"plan.zero", {"1"}}, {"optimizer.kind", {"sgd"}}}),
            "[Model] plan.zero has no effect, got plan.zero = 1 with optimizer.kind = sgd, which has no states, "
            "expected plan.zero = 2 or 3");
  EXPECT_EQ(refused({{"training.gradients", {"sum"}}}),
            "[Model] training.gradients has no effect, got ranks.count = 1, expected 2 ranks or more");
  EXPECT_EQ(refused({{"files.trace_steps", {"2"}}}),
            "[Model] files.trace_steps has no effect, got no files.trace, expected files.trace = FILE");
  EXPECT_EQ(refused({{"files.resume_with", {"rows"}}}),
            "[Model] files.resume_with has no effect, got no files.resume, expected files.resume = FILE");
  EXPECT_EQ(refused({{"files.checkpoint_keep", {"2"}}}),
            "[Model] files.checkpoint_keep has no effect, got no files.checkpoint, expected files.checkpoint = DIR");
}

TEST_F(ObeyedOptions, ThatACallDecidesAreRefusedByName) {
  const Printed printed;
  const DatasetPtr rows = rows_of(Split::train);
  const auto refused = [&](const std::function<void(JobConfig&)>& change, const FitOptions& fit = {}) {
    JobConfig config = small_config(1);
    change(config);
    return error_of([&] { Model(small_network(), config, Place{.cores = 1}).train(rows, fit); });
  };
  EXPECT_EQ(refused([](JobConfig&) {}), "");
  const std::string given =
      " has no effect, got rows as an argument of train, expected train without rows, or rows that are prepared "
      "already";
  EXPECT_EQ(refused([](JobConfig& config) { config.data.resize = 4; }), "[Model] data.resize" + given);
  EXPECT_EQ(refused([](JobConfig& config) { config.data.augment = true; }), "[Model] data.augment" + given);
  EXPECT_EQ(refused([](JobConfig& config) { config.data.separate_documents = true; }),
            "[Model] data.separate_documents" + given);
  EXPECT_EQ(refused([](JobConfig& config) {
              config.data.source = DataSource{DataKind::mnist, {"none"}};
            }),
            "[Model] data.source" + given);
  EXPECT_EQ(refused([](JobConfig& config) { config.training.loss = Loss::mae; }),
            "[Model] training.loss has no effect, got mae for a network whose loss is sparse, expected the loss as an "
            "argument of the network");
  EXPECT_EQ(refused([](JobConfig& config) { config.training.ignore_index = 3; }),
            "[Model] training.ignore_index has no effect, got 3 for a network whose loss counts it, expected it in the "
            "LossOptions of the network");
  EXPECT_EQ(refused([](JobConfig& config) { config.training.validate = true; }),
            "[Model] training.validate has no effect, got no rows to validate on, expected FitOptions::validation, "
            "FitOptions::test or data.source");
  EXPECT_EQ(refused([](JobConfig& config) { config.training.validate = true; }, {.test = rows}), "");
  EXPECT_EQ(refused([&](JobConfig& config) { config.files.checkpoint = (dir_.path() / "a").string(); },
                    {.checkpoints = CheckpointOptions{.folder = (dir_.path() / "b").string()}}),
            "[Model] files.checkpoint has no effect, got FitOptions::checkpoints too, expected only one of the two");
  EXPECT_EQ(error_of([&] { Model(small_network(), small_config(1), Place{.cores = 1}).train(); }),
            "[Model] no rows to train on, got neither data.source nor an argument of train, expected one of the two");
  EXPECT_EQ(error_of([&] { Model(small_network(), small_config(1), Place{.cores = 1}).eval(); }),
            "[Model] no rows to test on, got neither data.source nor an argument of eval, expected one of the two");
}

// A program prints the progress of its training, as the command does, unless it opts out.
TEST_F(ObeyedOptions, ProgressIsShownByDefault) {
  JobConfig config = config_of({});
  config.console = {};
  const auto printed_by = [&](const FitOptions& fit) {
    const Printed printed;
    Model(config, Place{.cores = 1}).train(fit);
    return printed.text();
  };
  EXPECT_NE(printed_by({}).find("epoch time: "), std::string::npos);
  EXPECT_NE(printed_by({}).find("testing on 96 rows"), std::string::npos);
  EXPECT_EQ(printed_by({.prints = false}), "");
  config.console.quiet = true;
  EXPECT_EQ(printed_by({}), "");
}

}  // namespace
}  // namespace partita
