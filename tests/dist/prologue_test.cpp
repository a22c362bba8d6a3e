// Means over what the labels say, under micro-batches: the count over the global batch comes first, in a prologue.

#include <gtest/gtest.h>

#include <map>

#include "base/philox.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/functions.h"
#include "frontend/network/initializers.h"
#include "frontend/network/layers/layers.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

constexpr int64_t kIgnored = -100;
constexpr int64_t kIgnoringBatch = 24;
const std::string kDroppingGpt = "gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2";

Job ignoring_job(const std::string& spec, const Shape& image) {
  return model_job(spec, {.image = image, .batch = kIgnoringBatch, .steps = 3, .ignore_index = kIgnored});
}

struct IgnoringCase {
  std::string spec;
  Shape image;
};
const std::vector<IgnoringCase>& ignoring_cases() {
  static const std::vector<IgnoringCase> all{{"mlp:hidden=12,dropout=0.2", {1, 6, 5}}, {kDroppingGpt, {}}};
  return all;
}

std::vector<Section> sections_with_nodes(const LocalGraph& local) {
  std::vector<Section> result;
  for (const auto& [section, nodes] : in_sections(local)) {
    if (!nodes.empty()) result.push_back(section);
  }
  return result;
}

TEST(Prologue, MeansOverValidLabelsAreThoseOfTheGlobalBatch) {
  for (const IgnoringCase& one : ignoring_cases()) {
    Job job = ignoring_job(one.spec, one.image);
    const JobResult oracle = interpret_job(job);
    for (const int64_t count : {1, 2, 3, 4}) {
      for (const int ranks : {1, 2, 3, 4, 6, 8}) {
        if (!can_run(ranks) || kIgnoringBatch % (count * ranks) != 0) continue;
        job.ranks = ranks;
        job.micro_batches = count;
        const std::string what = fmt::format("{}, {} micro-batches, {} ranks", one.spec, count, ranks);
        SCOPED_TRACE(what);
        const JobResult result = run_job(job);
        expect_same_training(result, oracle, 1e-9, what);
        const std::vector<Section> sections = sections_with_nodes(result.program.local());
        EXPECT_EQ(std::count(sections.begin(), sections.end(), Section::prologue), count > 1 ? 1 : 0);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Prologue, RunsOnItsStage) {
  for (const IgnoringCase& one : ignoring_cases()) {
    Job job = ignoring_job(one.spec, one.image);
    const JobResult oracle = interpret_job(job);
    for (const auto& [stages, ranks] : {std::pair{2, 2}, {2, 4}, {2, 3}, {2, 6}, {2, 8}, {3, 3}}) {
      if (!can_run(ranks)) continue;
      for (const Order order : {Order::gpipe, Order::one_forward_one_backward, Order::zero_bubble}) {
        for (const int64_t count : {1, 2, 4}) {
          job.ranks = ranks;
          job.micro_batches = count;
          job.pipeline = {.stages = stages, .order = order};
          const std::string what = fmt::format("{}, {} stages on {} ranks, {} micro-batches, {}", one.spec, stages,
                                               ranks, count, name_of(order));
          SCOPED_TRACE(what);
          expect_same_training(run_job(job), oracle, 1e-9, what);
          if (HasFailure()) return;
        }
      }
    }
  }
}

/// How many nodes of each op the sections have.
std::map<Section, std::map<std::string, int>> ops_of_sections(const LocalGraph& local) {
  std::map<Section, std::map<std::string, int>> result;
  for (const auto& [section, nodes] : in_sections(local)) {
    for (const NodeId node : nodes) ++result[section][local.graph.nodes[node].op];
  }
  return result;
}

// Nothing but the count runs twice, and ranks add it up once in a step.
TEST(Prologue, MakesTheCountAlone) {
  Job job = ignoring_job(kDroppingGpt, {});
  job.ranks = 2;
  job.micro_batches = 4;
  const Program program = compile_job(job);
  auto ops = ops_of_sections(program.local());
  EXPECT_EQ(ops[Section::prologue],
            (std::map<std::string, int>{{"not_equal", 1}, {"cast", 1}, {"reduce", 1}, {"accumulate", 1}}));
  EXPECT_EQ(ops[Section::joined]["all_reduce"], 1);
  EXPECT_EQ(ops[Section::joined]["matmul"], 0);
  EXPECT_EQ(ops[Section::micro]["not_equal"], 1);
  const Graph& graph = program.local().graph;
  EXPECT_TRUE(std::any_of(graph.nodes.begin(), graph.nodes.end(),
                          [](const Node& node) { return node.name == "not_equal.prologue"; }));
}

// A step of one micro-batch has no prologue, and the text of its graph is that of the training.
TEST(Prologue, OneMicroBatchHasNone) {
  const Program program = compile_job(ignoring_job(kDroppingGpt, {}));
  EXPECT_EQ(print(program.local(), all_ops()), print(program.graph));
  EXPECT_EQ(print(program.schedule(), program.local()).find("prologue"), std::string::npos);
}

TEST(Prologue, TextsAreReadBack) {
  Job job = ignoring_job(kDroppingGpt, {});
  job.ranks = 4;
  job.micro_batches = 4;
  for (const int64_t stages : {1, 2}) {
    job.pipeline.stages = stages;
    const Program program = compile_job(job);
    int prologues = 0;
    for (const StageProgram& stage : program.stages) {
      const std::string local = print(stage.local, all_ops()), schedule = print(stage.schedule, stage.local);
      EXPECT_EQ(print(parse_local_graph(local, all_ops()), all_ops()), local);
      EXPECT_EQ(print(parse_schedule(schedule, stage.local), stage.local), schedule);
      prologues += schedule.find("\nprologue\n") != std::string::npos;
    }
    EXPECT_EQ(prologues, 1) << stages;  // on the stage of the loss
  }
}

// Where no label counts, nothing is learnt, and nothing is NaN.
TEST(Prologue, ABatchWithoutLabelsTeachesNothing) {
  Job job = ignoring_job("mlp:hidden=12", {1, 6, 5});
  job.training.optimizer = {.kind = OptimizerKind::sgd};
  const auto given = job.batch;
  job.batch = [given](int step) {
    Arrays batch = given(step);
    Array& labels = batch.at("label");
    for (int64_t i = 0; i < labels.type().elements(); ++i) labels.set(i, static_cast<double>(kIgnored));
    return batch;
  };
  for (const int64_t count : {1, 4}) {
    job.micro_batches = count;
    const JobResult result = run_job(job);
    EXPECT_EQ(result.losses, (std::vector<double>{0, 0, 0}));
    for (const auto& [name, value] : job.states) EXPECT_EQ(relative_error(result.states.at(name), value), 0) << name;
  }
}

// The forward pass receives the count from another stage only after all micro-batches. The backward pass recomputes it
// before its own micro-batches.
TEST(Prologue, TheCountOfAnotherStageIsLate) {
  Job job = ignoring_job(kDroppingGpt, {});
  bool after_logits = false;
  for (Node& node : job.forward.nodes) {
    const bool counts = node.scope == "loss" && (node.op == "not_equal" || node.op == "cast" || node.op == "maximum" ||
                                                 (node.op == "reduce" && node.name == "reduce2"));
    after_logits = after_logits || node.scope == "loss";
    node.stage = counts ? 1 : after_logits ? 2 : 0;
    if (counts || (node.scope == "loss" && node.op == "div")) node.recompute = "count";
  }
  const JobResult oracle = interpret_job(job);
  for (const int ranks : {3, 6}) {
    if (!can_run(ranks)) continue;
    job.ranks = ranks;
    job.micro_batches = 4;
    job.pipeline = {.stages = 3};
    const JobResult result = run_job(job);
    expect_same_training(result, oracle, 1e-9, fmt::format("{} ranks", ranks));
    const auto& sent = result.program.stages[1].graph.outputs;
    EXPECT_TRUE(std::any_of(sent.begin(), sent.end(), [](const Output& one) { return one.name == "sent.maximum"; }));
  }
}

/// Rows whose losses count with weights of their own, and classes that a learnt number makes sharper or softer.
/// `relative_weights` adds a second mean with another divisor: of the weights relative to their own mean.
Job weighted_job(bool relative_weights = true) {
  const auto layers = sequential({dense(12), op_layer("relu"), dense(5)});
  const auto forward = [=](Context& context, Columns& rows) -> NamedValues {
    const Value logits = context.call_network(*layers, rows.at("x"));
    return {{"logits", mul(logits, context.parameter("sharpness", {}, constant_initializer(1)))}};
  };
  const auto loss = [=](Context& context, Columns& rows, const NamedValues& out) -> NamedValues {
    const Value losses =
        sample_losses(Loss::sparse, context.builder(), find_output(out, "logits"), rows.as_given("label"));
    const Value weights = square(rows.at("weight"));
    const Value mean = weighted_mean(losses, weights);
    if (!relative_weights) return {{"loss", mean}};
    return {{"loss", mean + reduce_mean(losses * (weights / reduce_mean(weights))) * 0.5}};
  };
  Job job;
  const std::vector<Column> columns{
      {"x", {DType::f64, {7}}}, {"label", {DType::i32, {}}}, {"weight", {DType::f64, {}}}};
  job.forward = build_graph(Network("weighted", forward, loss), all_ops(),
                            {.batch = kIgnoringBatch, .columns = columns, .dtype = DType::f64});
  job.training.optimizer = {.kind = OptimizerKind::adamw, .clip_norm = 0.5};
  job.states = initial_states(job.forward, /*seed=*/5);
  job.steps = 3;
  job.batch = [graph = job.forward](int step) {
    Arrays batch;
    for (const char* name : {"x", "label", "weight"}) {
      batch.emplace(name, random_array(graph.type(graph.input(name)), random_key(step, name), /*below=*/5));
    }
    return batch;
  };
  return job;
}

TEST(Prologue, WeightsOfSamples) {
  Job job = weighted_job();
  const JobResult oracle = interpret_job(job);
  for (const int64_t count : {2, 3, 4, 24}) {
    for (const int ranks : {1, 2, 3, 4, 6}) {
      if (!can_run(ranks) || kIgnoringBatch % (count * ranks) != 0) continue;
      for (const int64_t stages : {1, 2}) {
        if (ranks < stages) continue;
        job.ranks = ranks;
        job.micro_batches = count;
        job.pipeline.stages = stages;
        const std::string what = fmt::format("{} micro-batches, {} ranks, {} stages", count, ranks, stages);
        SCOPED_TRACE(what);
        expect_same_training(run_job(job), oracle, 1e-9, what);
        if (HasFailure()) return;
      }
    }
  }
}

// A batch whose samples all have weight 0 has a loss of 0, and nothing is learnt from it. Steps with weights match one
// rank.
TEST(Prologue, ABatchOfZeroWeightsTeachesNothing) {
  Job job = weighted_job(/*relative_weights=*/false);
  job.training.optimizer = {.kind = OptimizerKind::sgd};
  job.batch = [given = job.batch](int step) {
    Arrays batch = given(step);
    Array& weights = batch.at("weight");
    for (int64_t i = 0; i < weights.type().elements() && step % 2 == 0; ++i) weights.set(i, 0);
    return batch;
  };
  const JobResult oracle = interpret_job(job);
  EXPECT_EQ(oracle.losses[0], 0);
  EXPECT_GT(oracle.losses[1], 0);
  EXPECT_EQ(oracle.losses[2], 0);
  Job first = job;
  first.steps = 1;
  for (const auto& [name, value] : interpret_job(first).states) {
    EXPECT_EQ(relative_error(value, job.states.at(name)), 0) << name;
  }
  for (const int64_t count : {1, 4}) {
    for (const int ranks : {1, 2, 3}) {
      if (!can_run(ranks)) continue;
      job.ranks = ranks;
      job.micro_batches = count;
      const std::string what = fmt::format("{} micro-batches, {} ranks", count, ranks);
      SCOPED_TRACE(what);
      expect_same_training(run_job(job), oracle, 1e-9, what);
    }
  }
}

}  // namespace
}  // namespace partita
