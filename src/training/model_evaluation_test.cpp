// Evaluation and prediction of a Model on rows that it is not trained on.

#include <gtest/gtest.h>

#include "compiler/evaluation/row_passes.h"
#include "compiler/partition/collectives.h"
#include "compiler/partition/partition.h"
#include "compiler/plan/outputs.h"
#include "compiler/search/make_plan.h"
#include "frontend/data/views/part.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/functions.h"
#include "frontend/network/initializers.h"
#include "frontend/network/layers/layers.h"
#include "frontend/network/test_columns.h"
#include "ir/ops/registry.h"
#include "training/test_training.h"

namespace partita {
namespace {

// Without keeps_states the ranks hold the states and test them. The metrics equal those of an evaluation.
TEST(Model, TestsWithoutGatheringItsStates) {
  const DatasetPtr rows = rows_of(Split::train), test = rows_of(Split::test);
  for (const int ranks : {1, 3}) {
    Model keeps = small_model(ranks), releases = small_model(ranks);
    keeps.train(rows);
    const Metrics expected = keeps.eval(test);
    int ended = 0;
    const TrainingEnd end =
        releases.train(rows, {.keeps_states = false, .test = test, .ended = [&](const TrainingEnd& e) {
                                ++ended;
                                EXPECT_FALSE(e.test.has_value()) << "is still to come";
                              }});
    EXPECT_EQ(ended, 1);
    ASSERT_TRUE(end.test.has_value());
    EXPECT_EQ(end.test->samples, expected.samples);
    EXPECT_EQ(end.test->correct, expected.correct);
    EXPECT_NEAR(end.test->loss, expected.loss, 1e-12);
    EXPECT_TRUE(releases.states().empty());
    for (const auto& use : std::vector<std::function<void()>>{
             [&] { releases.eval(test); }, [&] { releases.train(rows); }, [&] { releases.save("none"); }}) {
      EXPECT_THROW(use(), InvalidArgument);
    }
    releases.assign(keeps.states());
    EXPECT_EQ(releases.eval(test).correct, expected.correct);
  }
}

TEST(Model, ValidatesAfterEveryEpoch) {
  for (int ranks : {1, 3}) {
    EventRecorder recorder;
    Model model = small_model(ranks);
    model.train(rows_of(Split::train), {.epochs = 2, .validation = rows_of(Split::test), .callbacks = {&recorder}});
    ASSERT_EQ(recorder.epochs.size(), 2);
    const Metrics last = *recorder.epochs[1].validation, again = model.eval(rows_of(Split::test));
    EXPECT_EQ(last.samples, kSmallRows);
    EXPECT_EQ(last.correct, again.correct);
    EXPECT_NEAR(last.loss, again.loss, 1e-12);
    EXPECT_GE(again.correct_in_top, again.correct);
    EXPECT_GT(again.correct_in_top, 0);
    EXPECT_NEAR(small_model(1).eval(rows_of(Split::test)).loss, small_model(ranks).eval(rows_of(Split::test)).loss,
                1e-12);
  }
}

/// y = x weight^T: the rows of the weight, which are the columns of y, are split over all ranks.
class SplitDense : public Layer {
 public:
  explicit SplitDense(int64_t units, CallLocation where = CallLocation::current()) : Layer(where), units_(units) {}
  Value construct(Context& context, Value x) override {
    const Value weight = context.parameter("weight", {units_, x.shape().back()}, normal_initializer(0, 0.3));
    context.builder().layerwise(weight, /*dim=*/0);
    return matmul(x, weight, /*transpose_a=*/false, /*transpose_b=*/true);
  }

 private:
  int64_t units_;
};

/// Returns the evaluation graph of 8 rows with labels, or that of a batch of 8 among 16.
Graph graph_of_rows(const LayerPtr& net, Loss loss, bool of_batch) {
  const BuildForRows build = [&](int64_t rows) {
    return build_graph({"split", net, loss}, all_ops(),
                       {.batch = rows,
                        .columns = labelled_columns({"image", {DType::f32, {1, 4, 4}}}),
                        .purpose = Purpose::evaluation});
  };
  return of_batch ? RowPasses(build, all_ops(), {.rows = 16, .batch = 8}).batch_graph(0, 8) : build(8);
}

// Each rank gets the logits of the rows whose labels it has, and no others, whether it returns them or compares them.
TEST(Evaluation, LogitsMoveToTheirRows) {
  /// Returns the collectives whose results have the shape of the logits.
  const auto moves_of = [](const LayerPtr& net, bool of_batch) {
    const Graph forward = graph_of_rows(net, Loss::sparse, of_batch);
    const PlanOptions options;
    const Plan plan = make_plan(forward, all_ops(), make_mesh(forward, 4, options), options);
    const LocalGraph local = partition(forward, all_ops(), with_logits_in_rows(plan, forward, all_ops()));
    const auto judge =
        std::ranges::find_if(local.graph.nodes, [](const Node& node) { return node.op == "label_place"; });
    EXPECT_EQ(judge != local.graph.nodes.end(), of_batch);
    const ValueId logits = of_batch ? judge->inputs[0] : local.graph.output("logits");
    EXPECT_EQ(local.type(logits, local.mesh.coordinates(0)), (Type{DType::f32, {2, 4}}));
    std::vector<std::string> moves;
    for (const Node& node : local.graph.nodes) {
      if (is_collective(node) && local.graph.type(node.outputs[0]) == local.graph.type(logits))
        moves.push_back(node.op);
    }
    return moves;
  };
  using Moves = std::vector<std::string>;
  for (const bool of_batch : {false, true}) {
    const LayerPtr flat = sequential({{"flatten", flatten()}, {"head", share(SplitDense(4))}});
    EXPECT_EQ(moves_of(flat, of_batch), Moves{"all_to_all"});
    const LayerPtr wide = sequential({{"flatten", flatten()}, {"wide", share(SplitDense(8))}, {"head", dense(4)}});
    EXPECT_EQ(moves_of(wide, of_batch), Moves{"reduce_scatter"});
    EXPECT_EQ(moves_of(sequential({{"flatten", flatten()}, {"head", dense(4)}}), of_batch), Moves{});
  }
}

// An evaluation reads numbers for each row, and logits only where a label is a row itself.
TEST(Evaluation, CountsRowsWhereLogitsAre) {
  const auto outputs_of = [](Loss loss) {
    std::vector<std::string> names;
    for (const Output& output :
         graph_of_rows(sequential({{"flatten", flatten()}, {"head", dense(4)}}), loss, true).outputs) {
      names.push_back(output.name);
    }
    return names;
  };
  const std::vector<std::string> places = outputs_of(Loss::sparse);
  EXPECT_EQ(std::ranges::count(places, "logits"), 0);
  EXPECT_EQ(std::ranges::count(places, kLabelPlace), 1);
  EXPECT_EQ(std::ranges::count(places, kFiniteRow), 1);
}

// Logits that are not split by rows: split by classes, or partial sums on all ranks. Counts equal those of one rank,
// also for a last partial batch.
TEST(Model, EvaluatesLogitsHoweverTheyAreCut) {
  const auto net = [](int64_t hidden, int64_t classes) {
    const LayerPtr head = hidden == 0 ? share(SplitDense(classes)) : dense(classes);
    if (hidden == 0) return sequential({{"flatten", flatten()}, {"head", head}});
    return sequential(
        {{"flatten", flatten()}, {"wide", share(SplitDense(hidden))}, {"tanh", tanh_layer()}, {"head", head}});
  };
  for (const auto& [hidden, loss] :
       {std::pair(0, Loss::sparse), std::pair(24, Loss::sparse), std::pair(0, Loss::dense)}) {
    std::optional<Metrics> one;
    for (const int ranks : {1, 2, 3, 4}) {
      SCOPED_TRACE(fmt::format("{} hidden, {}, {} ranks", hidden, name_of(loss), ranks));
      EventRecorder recorder;
      Model model({"split", net(hidden, 4), loss}, {.training = {.batch = kSmallBatch, .dtype = DType::f64},
                                                    .optimizer = {.kind = OptimizerKind::sgd},
                                                    .schedule = {.learning_rate = 0.01},
                                                    .evaluation = {.batch = 40, .top = 2},
                                                    .ranks = {.count = ranks, .threads = 1}});
      model.train(rows_of(Split::train), {.validation = rows_of(Split::test), .callbacks = {&recorder}});
      const Metrics metrics = model.eval(rows_of(Split::test));
      EXPECT_EQ(metrics.samples, kSmallRows);
      EXPECT_EQ(recorder.epochs.at(0).validation->correct, metrics.correct);
      if (!one) one = metrics;
      EXPECT_EQ(metrics.correct, one->correct);
      EXPECT_EQ(metrics.correct_in_top, one->correct_in_top);
      EXPECT_GT(metrics.correct_in_top, metrics.correct);
      EXPECT_NEAR(metrics.loss, one->loss, 1e-9);
    }
  }
}

// Training uses the scalar called "loss", at any position among the results of a function.
TEST(Model, TheLossIsTheOneOfThatName) {
  const auto metrics = [](bool loss_first, int ranks, double* validated) {
    auto head = dense(4);
    const auto forward = [=](Context& context, Columns& rows) -> NamedValues {
      return {{"logits", context.call("head", *head, reshape(rows.at("image"), {kSmallBatch, 64}))}};
    };
    const auto loss = [=](Context& context, Columns& rows, const NamedValues& out) -> NamedValues {
      const Value e = build_loss(Loss::sparse, context.builder(), find_output(out, "logits"), rows.at("label"));
      if (loss_first) return {{"loss", e}, {"aux", e * 100}, {"half", e * 0.5}};
      return {{"aux", e * 100}, {"half", e * 0.5}, {"loss", e}};
    };
    EventRecorder recorder;
    Model model({"named", forward, loss}, {.training = {.batch = kSmallBatch, .dtype = DType::f64},
                                           .evaluation = {.batch = kSmallBatch},
                                           .ranks = {.count = ranks, .threads = 1}});
    const DatasetPtr rows = take(rows_of(Split::test), 3 * kSmallBatch);
    model.train(rows, {.validation = rows, .callbacks = {&recorder}});
    *validated = recorder.epochs.at(0).validation->loss;
    return model.eval(rows);
  };
  for (const int ranks : {1, 2}) {
    double first_validated = 0, last_validated = 0;
    const Metrics first = metrics(true, ranks, &first_validated), last = metrics(false, ranks, &last_validated);
    EXPECT_GT(first.loss, 0);
    EXPECT_EQ(last.loss, first.loss);
    EXPECT_EQ(last.others, first.others);
    ASSERT_EQ(last.others.size(), 2u);
    EXPECT_EQ(last.others[0].first, "aux");
    EXPECT_NEAR(last.others[0].second, 100 * last.loss, 1e-9);
    EXPECT_EQ(last_validated, first_validated);
    EXPECT_EQ(last_validated, last.loss);
  }
}

}  // namespace
}  // namespace partita
