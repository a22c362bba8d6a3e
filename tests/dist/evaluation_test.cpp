// Evaluations under the ranks, stages, modes and states of a training: the numbers of one rank, from where the states
// are.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "frontend/data/readers/generated_rows.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/functions.h"
#include "frontend/network/initializers.h"
#include "frontend/network/layers/layers.h"
#include "ir/ops/registry.h"
#include "job/program.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/execute/executor.h"
#include "support/program.h"
#include "support/texts/texts.h"
#include "training/model.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

/// Rows for a model: normal floats, and integers below `below`.
DatasetPtr random_rows(const std::vector<Column>& columns, int64_t count, uint64_t key, int64_t below) {
  return generated_rows(columns, count, [=](int64_t, int64_t index, std::span<const Tensor> row) {
    for (size_t c = 0; c < row.size(); ++c) {
      for (int64_t i = 0; i < row[c].type.elements(); ++i) {
        const uint64_t at = static_cast<uint64_t>(index) << 20 | static_cast<uint64_t>(i);
        if (row[c].type.dtype == DType::i32) {
          row[c].as<int32_t>()[i] = static_cast<int32_t>(random_below(key + c, at, 0, below));
        } else if (row[c].type.dtype == DType::f64) {
          row[c].as<double>()[i] = random_normal(key + c, at, 0);
        } else {
          row[c].as<float>()[i] = static_cast<float>(random_normal(key + c, at, 0));
        }
      }
    }
  });
}

struct EvaluatedModel {
  std::string spec;
  Shape image{};  // none: the recipe's columns
  int64_t labels = 10;
};

struct EvaluationCase {
  EvaluatedModel model;
  int ranks = 1;
  PlanOptions plan{};
  int64_t batch = 24, eval_batch = 10, rows = 37;
  DType dtype = DType::f64;
  std::vector<std::string> annotations{};
  std::optional<int64_t> ignored{};
};

std::vector<Column> columns_of(const EvaluationCase& one) {
  std::vector<Column> columns = make_model(one.model.spec).columns(one.dtype);
  if (!one.model.image.empty()) columns.at(0).type.shape = one.model.image;
  return columns;
}

Model model_of(const EvaluationCase& one) {
  const ZooModel zoo = make_model(one.model.spec);
  JobConfig config = zoo.recipe;
  config.training.batch = one.batch;
  config.training.epochs = 1;
  config.training.dtype = one.dtype;
  config.training.batch_norm = BatchNormStatistics::global;
  config.evaluation = {.batch = one.eval_batch, .top = 3};
  config.ranks = {
      .count = one.ranks, .threads = 1, .kernels = one.dtype == DType::f64 ? KernelSet::reference : KernelSet::fast};
  config.plan.options = one.plan;
  for (const std::string& annotation : one.annotations) {
    config.plan.annotations.push_back(parse_node_annotation(annotation));
  }
  return Model(zoo.network(config.training.loss, {.ignore_index = one.ignored}), config, Place{.cores = 1});
}

void expect_same_metrics(const Metrics& got, const Metrics& expected, double tolerance) {
  EXPECT_EQ(got.samples, expected.samples);
  EXPECT_EQ(got.correct, expected.correct);
  EXPECT_EQ(got.correct_in_top, expected.correct_in_top);
  EXPECT_NEAR(got.loss, expected.loss, tolerance * std::abs(expected.loss));
  ASSERT_EQ(got.others.size(), expected.others.size());
  for (size_t i = 0; i < got.others.size(); ++i) {
    EXPECT_NEAR(got.others[i].second, expected.others[i].second, tolerance * std::abs(expected.others[i].second));
  }
}

/// The validation of a training, an evaluation of its model, and one on one rank of the weights that it saved.
void expect_one_rank(const EvaluationCase& one, double tolerance = 1e-12) {
  const TempDir folder;
  const std::string weights = (folder.path() / "weights").string();
  const DatasetPtr training = random_rows(columns_of(one), 2 * one.batch, 11, one.model.labels),
                   test = random_rows(columns_of(one), one.rows, 77, one.model.labels);
  std::optional<Metrics> validation;
  LambdaCallback keep;
  keep.epoch_end = [&](const EpochInfo& info) { validation = info.validation; };
  Model model = model_of(one);
  model.train(training, {.validation = test, .callbacks = {&keep}});
  model.save(weights);
  EvaluationCase alone = one;
  alone.ranks = 1;
  alone.plan = {.pipeline = {.stages = 1}};
  alone.annotations.clear();
  Model single = model_of(alone);
  single.load(weights);
  const Metrics expected = single.eval(test);
  ASSERT_TRUE(validation.has_value());
  EXPECT_TRUE(expected.correct_in_top > 0 || one.rows < 4);
  expect_same_metrics(*validation, expected, tolerance);
  expect_same_metrics(model.eval(test), expected, tolerance);
}

const EvaluatedModel kMlp{"mlp:hidden=12,dropout=0.2", {1, 6, 5}}, kLenet{"lenet:dropout=0.2", {1, 28, 28}},
    kGpt{"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2", {}, 12},
    kResnet{"resnet18:width=4,size=8", {3, 8, 8}},
    kMoe{"moe:layers=2,hidden=8,heads=4,seq=6,vocab=12,experts=4", {}, 12},
    kLlama{"llama:layers=2,hidden=8,heads=4,kv_heads=2,seq=6,vocab=12", {}, 12};

TEST(Evaluations, RunUnderStages) {
  for (const EvaluatedModel& model : {kMlp, kLenet, kGpt, kResnet}) {
    for (const auto& [stages, interleave, ranks] :
         {std::tuple{2, 1, 2}, {3, 1, 3}, {2, 1, 4}, {2, 1, 3}, {4, 2, 2}, {4, 2, 4}, {3, 1, 8}, {2, 2, 1}}) {
      SCOPED_TRACE(fmt::format("{}, {} stages, {} on each of {} ranks", model.spec, stages, interleave, ranks));
      const PlanOptions plan{.parallel = Parallel::hybrid, .pipeline = {.stages = stages, .interleave = interleave}};
      expect_one_rank({.model = model, .ranks = ranks, .plan = plan});
      if (HasFailure()) return;
    }
  }
}

TEST(Evaluations, RunUnderEveryMode) {
  const EvaluatedModel mlp{"mlp:hidden=16", {1, 6, 5}};
  for (const int stages : {1, 2}) {
    for (const Parallel parallel :
         {Parallel::none, Parallel::data, Parallel::hybrid, Parallel::semi, Parallel::automatic}) {
      for (const int ranks : {2, 4, 8}) {
        SCOPED_TRACE(fmt::format("{} on {} ranks, {} stages", name_of(parallel), ranks, stages));
        const int64_t half = ranks / stages;
        EvaluationCase one{
            .model = mlp, .ranks = ranks, .plan = {.parallel = parallel, .pipeline = {.stages = stages}}};
        if (uses_annotations(parallel) && half % 2 == 0) {
          one.annotations = {fmt::format("net/fc1/matmul=(({},1),(2,1))", half / 2)};
        }
        expect_one_rank(one);
      }
    }
  }
}

/// Every parameter is cut, however small. Without optimizer sharding a threshold is refused.
OptimizerSharding sharded(int64_t level) {
  if (level == 0) return {};
  return {.level = level, .threshold = 0};
}

TEST(Evaluations, CutBlocksAsTheTraining) {
  for (const auto& [stages, ranks] : {std::pair{1, 4}, {2, 8}}) {
    for (const EvaluatedModel& model : {kGpt, kLlama}) {
      for (const int64_t level : {0, 3}) {
        const PlanOptions plan{.parallel = Parallel::automatic,
                               .zero = sharded(level),
                               .pipeline = {.stages = stages},
                               .blocks = {.tensor = 2, .sequence = true, .context = 2}};
        expect_one_rank({.model = model, .ranks = ranks, .plan = plan});
      }
    }
  }
}

// Parameters are cut where they are kept, and gathered where they are used.
TEST(Evaluations, ReadShardedStates) {
  for (const EvaluatedModel& model : {kMlp, kGpt}) {
    for (const int64_t level : {1, 2, 3}) {
      for (const auto& [stages, ranks] : {std::pair{1, 2}, {1, 3}, {2, 4}, {2, 6}}) {
        SCOPED_TRACE(fmt::format("{}, level {}, {} stages on {} ranks", model.spec, level, stages, ranks));
        const PlanOptions plan{
            .parallel = Parallel::hybrid, .micro_batches = 2, .zero = sharded(level), .pipeline = {.stages = stages}};
        expect_one_rank({.model = model, .ranks = ranks, .plan = plan});
      }
    }
  }
}

// Rows, or tokens, whose label is ignored are no samples, however many of them a batch or a rank has.
TEST(Evaluations, LeaveOutIgnoredLabels) {
  for (const EvaluatedModel& model : {kMlp, kGpt}) {
    EvaluationCase one{.model = model, .ignored = 3};  // a class of the logits
    const DatasetPtr test = random_rows(columns_of(one), one.rows, 77, one.model.labels);
    const int64_t all = test->size() * (model.spec == kGpt.spec ? 6 : 1);
    const Metrics metrics = model_of(one).eval(test);
    EXPECT_LT(metrics.samples, all) << model.spec;
    EXPECT_GT(metrics.samples, all / 2) << model.spec;
    for (const auto& [stages, ranks] : {std::pair{1, 3}, {2, 2}, {2, 4}}) {
      SCOPED_TRACE(fmt::format("{}, {} stages on {} ranks", model.spec, stages, ranks));
      one.ranks = ranks;
      one.plan = {.parallel = Parallel::hybrid, .micro_batches = 2, .pipeline = {.stages = stages}};
      expect_one_rank(one);
    }
  }
}

// The rows that do not fill a batch have a program of their own on all ranks, also of fewer rows than ranks.
TEST(Evaluations, TakeEveryRow) {
  for (const Parallel parallel : {Parallel::data, Parallel::semi, Parallel::automatic}) {
    for (const int64_t rows : {1, 2, 3, 8, 9, 11, 12, 13, 31}) {
      for (const int stages : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} rows, {}, {} stages", rows, name_of(parallel), stages));
        const PlanOptions plan{.parallel = parallel, .pipeline = {.stages = stages}};
        EvaluationCase one{.model = {"mlp:hidden=8", {1, 6, 5}}, .ranks = 4, .plan = plan, .rows = rows};
        if (stages == 2) one.model = kGpt;
        expect_one_rank(one);
        if (stages == 2 || parallel == Parallel::data) continue;
        for (const char* cut : {"((2,1),(2,1))", "((4,1),(1,1))", "[dp=2,mp=2]((dp,None),(mp,None))"}) {
          SCOPED_TRACE(cut);
          one.annotations = {fmt::format("net/fc1/matmul={}", cut)};
          expect_one_rank(one);
        }
      }
    }
  }
}

// Kernels of the training have chosen memory formats for the parameters; evaluations take them as they lie.
TEST(Evaluations, TakeParametersInTheFormatsOfTheTraining) {
  for (const EvaluatedModel& model : {kLenet, EvaluatedModel{"resnet18:width=16,size=16", {3, 16, 16}}}) {
    for (const auto& [stages, ranks] : {std::pair{1, 1}, {1, 2}, {2, 2}, {3, 3}}) {
      for (const int64_t level : {0, 3}) {
        SCOPED_TRACE(fmt::format("{} stages on {} ranks, level {}", stages, ranks, level));
        const PlanOptions plan{.zero = {.level = level}, .pipeline = {.stages = stages}};
        expect_one_rank({.model = model, .ranks = ranks, .plan = plan, .dtype = DType::f32}, 1e-5);
      }
    }
  }
}

/// One of all combinations of what a training has.
EvaluationCase random_evaluation(uint64_t seed) {
  uint64_t drawn = 0;
  const auto below = [&](uint64_t count) { return static_cast<int64_t>(random_below(seed, drawn++, 5, count)); };
  const std::vector<EvaluatedModel> models{kMlp, kLenet, kGpt, kResnet, kMoe, kLlama};
  EvaluationCase one{.model = models[static_cast<size_t>(below(models.size()))]};
  const int64_t groups = 1 + below(3), interleave = 1 + below(2);
  one.ranks = static_cast<int>(groups + below(9 - static_cast<uint64_t>(groups)));
  one.batch = 24 * (1 + below(2));
  one.rows = 1 + below(60);
  one.eval_batch = 1 + below(30);
  constexpr Parallel kModes[] = {Parallel::none, Parallel::hybrid, Parallel::semi, Parallel::automatic};
  constexpr Order kOrders[] = {Order::gpipe, Order::one_forward_one_backward, Order::interleaved, Order::zero_bubble};
  one.plan = {.parallel = kModes[below(4)],
              .micro_batches = one.model.spec.starts_with("resnet") ? 1 : 1 + below(3),
              .zero = sharded(below(4)),
              .pipeline = {.stages = groups * interleave, .order = kOrders[below(4)], .interleave = interleave}};
  if (one.plan.parallel == Parallel::none) one.plan.zero = {};
  const bool has_blocks = one.model.image.empty() && one.plan.parallel == Parallel::automatic;
  if (has_blocks && one.ranks % (4 * groups) == 0) {
    one.plan.blocks.tensor = 1 + below(2);
    one.plan.blocks.context = 1 + below(2);
    one.plan.blocks.sequence = one.plan.blocks.tensor > 1 && below(2) == 1;
  }
  return one;
}

TEST(Evaluations, RunUnderRandomPlans) {
  const char* count = std::getenv("PARTITA_EVALUATIONS");
  for (uint64_t seed = 1; seed <= (count == nullptr ? 40 : std::stoul(count)); ++seed) {
    const EvaluationCase one = random_evaluation(seed);
    SCOPED_TRACE(fmt::format(
        "{}: {}, {} rows in {}, {} ranks, {}, {} stages, {} on each, {}, {} micro-batches, level {}", seed,
        one.model.spec, one.rows, one.eval_batch, one.ranks, name_of(one.plan.parallel), one.plan.pipeline.stages,
        one.plan.pipeline.interleave, name_of(one.plan.pipeline.order), one.plan.micro_batches, one.plan.zero.level));
    try {
      expect_one_rank(one);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

/// A network whose second stage, of three, is a layer that only a training has.
Network with_dropout_stage() {
  const LayerPtr first = dense(16), drop = dropout(0.5), last = dense(10);
  first->pipeline_stage(0);
  drop->pipeline_stage(1);
  last->pipeline_stage(2);
  return {
      "dropout_stage",
      sequential({{"flatten", flatten()}, {"first", first}, {"relu", relu_layer()}, {"drop", drop}, {"last", last}}),
      Loss::sparse};
}

TEST(Evaluations, StagesMayHaveLayersOfATrainingAlone) {
  EvaluationCase one{.model = {"mlp", {1, 6, 5}}, .ranks = 3, .batch = 12};
  JobConfig config{.training = {.batch = 12, .epochs = 1, .dtype = DType::f64},
                   .evaluation = {.batch = 10},
                   .ranks = {.count = 3, .threads = 1, .kernels = KernelSet::reference}};
  const DatasetPtr rows = random_rows(columns_of(one), 24, 1, 10);
  std::optional<Metrics> validation;
  LambdaCallback keep;
  keep.epoch_end = [&](const EpochInfo& info) { validation = info.validation; };
  const TempDir folder;
  const std::string weights = (folder.path() / "weights").string();
  Model model(with_dropout_stage(), config, Place{.cores = 1});
  model.train(rows, {.validation = rows, .callbacks = {&keep}});
  model.save(weights);
  config.ranks.count = 1;
  config.plan.options.pipeline.stages = 1;
  Model single(with_dropout_stage(), config, Place{.cores = 1});
  single.load(weights);
  const Metrics expected = single.eval(rows);
  expect_same_metrics(*validation, expected, 1e-12);
  expect_same_metrics(model.eval(rows), expected, 1e-12);
  // An annotation that names it is no mistake.
  config.ranks.count = 2;
  config.plan.options.pipeline = {
      .stages = 2,
      .stage_annotations = {parse_stage_annotation("net/first=0"), parse_stage_annotation("net/drop=1"),
                            parse_stage_annotation("net/last=1")}};
  const Network plain{
      "dropout_stage",
      sequential({{"flatten", flatten()}, {"first", dense(16)}, {"drop", dropout(0.5)}, {"last", dense(10)}}),
      Loss::sparse};
  Model annotated(plain, config, Place{.cores = 1});
  EXPECT_EQ(annotated.eval(rows).samples, 24);
}

/// x, scaled by a statistic that counts how often the layer has run, in evaluations too.
class Counts : public Layer {
 public:
  explicit Counts(CallLocation where = CallLocation::current()) : Layer(where) {}
  Value construct(Context& context, Value x) override {
    const Value count = context.statistic("count", {1}, constant_initializer(1));
    context.update_statistic("count", count * 1.25);
    return mul(x, count);
  }
};

/// A parameter that only evaluations have.
class AddsParameter : public Layer {
 public:
  explicit AddsParameter(CallLocation where = CallLocation::current()) : Layer(where) {}
  Value construct(Context& context, Value x) override {
    if (context.options().training) return x;
    return add(x, context.parameter("late", {1}, constant_initializer(1)));
  }
};

Network network_with(const LayerPtr& layer) {
  return {"with", sequential({{"flatten", flatten()}, {"fc", dense(16)}, {"own", layer}, {"head", dense(10)}}),
          Loss::sparse};
}

JobConfig config_with(int ranks, int stages) {
  return {.training = {.batch = 12, .epochs = 2, .dtype = DType::f64},
          .evaluation = {.batch = 4},
          .ranks = {.count = ranks, .threads = 1, .kernels = KernelSet::reference},
          .plan = {.options = {.pipeline = {.stages = stages}}}};
}

// Evaluations write copies of statistics.
TEST(Evaluations, LeaveTheStatesOfTheTraining) {
  const DatasetPtr rows = random_rows(columns_of({.model = {"mlp", {1, 6, 5}}}), 24, 1, 10);
  for (const auto& [stages, ranks] : {std::pair{1, 1}, {1, 2}, {2, 2}}) {
    std::vector<std::string> saved;
    for (const bool validates : {false, true}) {
      const TempDir folder;
      const std::string path = (folder.path() / "weights").string();
      Model model(network_with(share(Counts())), config_with(ranks, stages), Place{.cores = 1});
      model.train(rows, {.validation = validates ? rows : nullptr});
      model.save(path);
      saved.push_back(read_text(path));
    }
    EXPECT_EQ(saved[0], saved[1]);
  }
}

TEST(Evaluations, StatesThatTheTrainingHasNotAreRefused) {
  const DatasetPtr rows = random_rows(columns_of({.model = {"mlp", {1, 6, 5}}}), 24, 1, 10);
  for (const auto& [stages, ranks] : {std::pair{1, 1}, {1, 2}, {2, 2}}) {
    Model model(network_with(share(AddsParameter())), config_with(ranks, stages), Place{.cores = 1});
    expect_error<InvalidArgument>([&] { model.train(rows, {.validation = rows}); },
                                  "unknown state, got 'own.late', expected one of");
  }
}

/// The training of a small network, and an evaluation of its states.
struct SharedPrograms {
  Program training, evaluation;

  explicit SharedPrograms(int stages, int ranks) {
    const ZooModel zoo = make_model("lenet");
    const JobConfig config = completed({.training = {.batch = 12},
                                        .ranks = {.count = ranks, .threads = 1},
                                        .plan = {.options = {.micro_batches = 2, .pipeline = {.stages = stages}}}},
                                       Place{.cores = 1});
    const Network network = zoo.network(Loss::sparse);
    const auto make = [&](Purpose purpose, int64_t batch) {
      return make_program(config, {.network = network,
                                   .columns = zoo.columns(),
                                   .batch = batch,
                                   .ranks = ranks,
                                   .purpose = purpose,
                                   .any_rows = purpose == Purpose::evaluation,
                                   .training = purpose == Purpose::evaluation ? &training : nullptr});
    };
    training = make(Purpose::training, 12);
    evaluation = make(Purpose::evaluation, 7);
  }
};

// The arena of an evaluation has no room for states: its buffers of states lie after the arena, as in the training.
TEST(Evaluations, HaveNoMemoryForStates) {
  for (const auto& [stages, ranks] : {std::pair{1, 1}, {1, 3}, {2, 4}}) {
    const SharedPrograms programs(stages, ranks);
    for (size_t k = 0; k < programs.evaluation.stages.size(); ++k) {
      const auto& [graph, plan, local, schedule] = programs.evaluation.stages[k];
      const Schedule& holder = programs.training.stages[k].schedule;
      const auto formats = state_formats(holder, programs.training.stages[k].local);
      int64_t bytes = 0;
      for (const int entry : schedule.entry) {
        EXPECT_TRUE(schedule.is_external(entry));
        const Buffer& buffer = schedule.buffers[entry];
        EXPECT_EQ(buffer.format, formats.at(local.graph.values[buffer.value].name));
        bytes += aligned(buffer.bytes);
      }
      EXPECT_GT(bytes, 0);
      EXPECT_EQ(schedule.external_bytes, bytes);
      const std::string text = print(schedule, local);
      EXPECT_NE(text.find(fmt::format(" external {}\n", bytes)), std::string::npos);
      EXPECT_EQ(print(parse_schedule(text, local), local), text);
    }
  }
}

TEST(Evaluations, SchedulesWithWrongExternalStatesAreRefused) {
  const SharedPrograms programs(1, 1);
  const LocalGraph& local = programs.evaluation.local();
  const Schedule& good = programs.evaluation.schedule();
  const auto refused = [&](const std::function<void(Schedule&)>& change) {
    Schedule schedule = good;
    change(schedule);
    try {
      parse_schedule(print(schedule, local), local);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused([](Schedule&) {}), "accepted");
  const auto expect = [&](const std::function<void(Schedule&)>& change, const std::string& part) {
    const std::string message = refused(change);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  const int state = good.entry[0];
  expect([](Schedule& schedule) { schedule.external_bytes = 0; }, "lies outside");
  expect([&](Schedule& schedule) { schedule.buffers[state].offset += 64 * schedule.external_bytes; }, "lies outside");
  expect([&](Schedule& schedule) { schedule.buffers[state].offset = schedule.buffers[schedule.entry[1]].offset; },
         "which is not there any more");
  expect(
      [&](Schedule& schedule) {
        schedule.external_bytes += 1 << 20;
        schedule.buffers[schedule.outputs[0]].offset = schedule.arena_bytes + (int64_t{1} << 19);
      },
      "is external, and no state");
  // A training writes its states.
  const LocalGraph& trained = programs.training.local();
  Schedule schedule = programs.training.schedule();
  Buffer& buffer = schedule.buffers[schedule.entry[0]];
  schedule.external_bytes = aligned(buffer.bytes);
  buffer.offset = schedule.arena_bytes;
  expect_error<InternalError>([&] { verify(schedule, trained); }, "is external, and written");
  // Nobody holds them.
  run_ranks(1, [&](Communicator& world) {
    const auto device = make_cpu_device(all_ops(), 1);
    expect_error<InternalError>([&] { Executor(local, good, all_ops(), *device, world); }, "has states elsewhere");
  });
}

}  // namespace
}  // namespace partita
