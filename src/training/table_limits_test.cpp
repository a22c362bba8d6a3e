#include "training/table_limits.h"

#include <gtest/gtest.h>

#include "frontend/data/readers/generated_rows.h"
#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/views/part.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "ir/ops/registry.h"
#include "training/test_training.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

/// Looks up `first` in a table of `rows` rows, through a cast, a reshape and a reversal. `slices`: looks up only its
/// first half, twice.
Network looked_up(int64_t rows, bool slices = false) {
  return Network(
      "net",
      [rows, slices](Context& context, Columns& columns) {
        const Value ids = reshape(cast(columns.at("first"), DType::i64), {columns.batch() * 2});
        const Value part = apply("slice", {ids}, SliceAttrs{.begin = {0}, .end = {columns.batch()}});
        const Value twice =
            slices ? apply("concat", {part, part}, ConcatAttrs{.axis = 0}) : apply("reverse", {ids}, "{axis=0}");
        const Value table = context.parameter("table.weight", {rows, 3}, normal_initializer(0, 1));
        const Value x = reshape(apply("embedding", {table, twice}), {columns.batch(), 6});
        return NamedValues{{"logits", x + columns.at("second")}};
      },
      [](Context&, Columns&, const NamedValues& outputs) {
        return NamedValues{{"loss", reduce_mean(square(outputs[0].second), {0, 1})}};
      });
}

const std::vector<Column> kIdColumns{{"first", {DType::f32, {2}}}, {"second", {DType::f32, {6}}}};

TEST(TableLimits, AreFoundThroughCastsAndMoves) {
  const Graph graph = build_graph(looked_up(7), all_ops(), {.batch = 4, .columns = kIdColumns});
  ASSERT_EQ(table_limits(graph, all_ops()).size(), 1u);
  EXPECT_EQ(table_limits(graph, all_ops())[0], (IdLimit{"first", 7, "table.weight"}));
}

// Elements that a slice leaves out need not be ids: they may be numbers, or ids of another table.
TEST(TableLimits, OfSlicesAreUnknown) {
  const Graph graph = build_graph(looked_up(7, /*slices=*/true), all_ops(), {.batch = 4, .columns = kIdColumns});
  EXPECT_TRUE(table_limits(graph, all_ops()).empty());
}

TEST(TableLimits, OfTheModelsAreTheirVocabularies) {
  for (const std::string name : {"gpt:vocab=100", "llama:vocab=100", "moe:vocab=100", "bert:vocab=100", "t5:vocab=100",
                                 "recommender:rows=100"}) {
    const ZooJob job(make_model(name).recipe, Place{.cores = 1});
    const std::vector<IdLimit> limits =
        table_limits(build_graph(job.network(), all_ops(), {.batch = 4, .columns = job.columns()}), all_ops());
    std::set<std::string> columns;
    for (const IdLimit& limit : limits) {
      columns.insert(limit.column);
      EXPECT_EQ(limit.rows, 100) << name;
    }
    const std::string first = job.columns()[0].name;
    EXPECT_TRUE(columns.contains(first)) << name;
    EXPECT_FALSE(columns.contains("label")) << name;  // t5 looks up all labels but the last, through a slice
  }
}

// Generated texts have only valid bytes, for any vocabulary.
TEST(TableLimits, GeneratedTextsFitTheirModels) {
  for (const std::string model : {"gpt", "llama", "moe", "bert", "t5"}) {
    for (const int64_t vocabulary : {2, 24, 25, 97, 121, 122, 256}) {
      const std::string spec = fmt::format("{}:vocab={}", model, vocabulary);
      const ZooJob job(make_model(spec).recipe, Place{.cores = 1});
      for (const Split split : {Split::train, Split::test}) {
        EXPECT_NO_THROW(checked_ids(job.rows(split), {{"tokens", vocabulary, "t"}, {"label", vocabulary, "t"}}))
            << spec;
      }
      const IntegerRange letters = *job.rows(Split::train)->integers(1);
      EXPECT_GE(letters.greatest.value, letters.least.value + (spec == "bert:vocab=2" ? 0 : 1)) << spec;  // one mask
      if (vocabulary > 121) {
        EXPECT_EQ(letters.least.value, 'a') << spec;
        EXPECT_EQ(letters.greatest.value, 'a' + 23) << spec;
      }
    }
  }
}

std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(TableLimits, IdsAreCheckedBeforeTheFirstStep) {
  constexpr int64_t kRows = 24;
  Array first(Type{DType::f32, {kRows, 2}});
  first.set(2 * 20, 9.0);
  const Array second(Type{DType::f32, {kRows, 6}});
  const DatasetPtr held = memory_rows({{"first", first}, {"second", second}});
  const DatasetPtr made = generated_rows(kIdColumns, kRows, [](int64_t, int64_t index, std::span<const Tensor> row) {
    std::fill_n(row[0].as<float>(), 2, index == 20 ? 9.0F : 0.0F);
    std::fill_n(row[1].as<float>(), 6, 0.5F);
  });
  JobConfig config = small_config(2);
  config.training.batch = 4;
  config.training.dtype = DType::f32;
  const auto steps_of = [&](const DatasetPtr& rows, int64_t table, std::string& reason) {
    EventRecorder recorder;
    Model model(looked_up(table), config, Place{.cores = 1});
    reason = refusal_of([&] { model.train(rows, {.epochs = 1, .callbacks = {&recorder}}); });
    return recorder.steps.size();
  };
  std::string reason;
  EXPECT_EQ(steps_of(held, 10, reason), 6u);
  EXPECT_EQ(reason, "none");
  EXPECT_EQ(steps_of(held, 9, reason), 0u);
  EXPECT_EQ(reason, "[ids] 'first' is outside of table 'table.weight', got 9 at row 20, expected 0 to 8");
  EXPECT_EQ(steps_of(made, 9, reason), 5u);
  EXPECT_EQ(reason, "[ids] 'first' is outside of table 'table.weight', got 9 at row 20 of epoch 0, expected 0 to 8");
  Model model(looked_up(9), config, Place{.cores = 1});
  EXPECT_EQ(refusal_of([&] { model.train(take(made, 8), {.epochs = 1, .validation = held}); }),
            "[ids] 'first' is outside of table 'table.weight', got 9 at row 20, expected 0 to 8");
  EXPECT_EQ(refusal_of([&] { model.eval(held); }),
            "[ids] 'first' is outside of table 'table.weight', got 9 at row 20, expected 0 to 8");
}

}  // namespace
}  // namespace partita
