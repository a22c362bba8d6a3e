// The scalars of an evaluation are those of all rows in one batch on one rank, whatever its batches, ranks and stages.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "frontend/data/readers/generated_rows.h"
#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "support/program.h"
#include "training/model.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

constexpr int64_t kClasses = 4, kIgnoredLabel = 3;

/// Random rows in blocks of four. Two of every three blocks have weights of 0, so that whole batches may.
DatasetPtr weighted_rows(int64_t count, DType dtype, uint64_t key = 5) {
  const std::vector<Column> columns{{"x", {dtype, {6}}}, {"label", {DType::i32, {}}}, {"weight", {dtype, {}}}};
  return generated_rows(columns, count, [=](int64_t, int64_t index, std::span<const Tensor> row) {
    const auto at = static_cast<uint64_t>(index) << 8;
    const auto set = [&](const Tensor& to, int64_t i, double value) {
      for_float(to.type.dtype, [&](auto zero) { to.as<decltype(zero)>()[i] = static_cast<decltype(zero)>(value); });
    };
    for (int64_t i = 0; i < 6; ++i) set(row[0], i, random_normal(key, at + static_cast<uint64_t>(i), 0));
    row[1].as<int32_t>()[0] = static_cast<int32_t>(random_below(key + 1, at, 0, kClasses));
    const bool has_weight = index / 4 % 3 == 0;
    set(row[2], 0, has_weight ? 0.1 + std::abs(random_normal(key + 2, at, 0)) : 0);
  });
}

struct Rows {
  Builder& builder;
  Value logits, label, weight;
};
using Formula = std::function<Value(const Rows&)>;

/// `rows_alone`: the only number of rows that the network takes; 0: any.
Network network_of(const std::vector<Formula>& formulas, int64_t rows_alone = 0) {
  const auto hidden = dense(8), head = dense(kClasses), tanh = tanh_layer();
  const auto forward = [=](Context& context, Columns& rows) -> NamedValues {
    const Value x = rows_alone > 0 ? reshape(rows.at("x"), {rows_alone, 6}) : rows.at("x");
    const Value h = context.call("tanh", *tanh, context.call("hidden", *hidden, x));
    return {{"logits", context.call("head", *head, h)}};
  };
  const auto loss = [=](Context& context, Columns& rows, const NamedValues& out) -> NamedValues {
    const Rows given{context.builder(), find_output(out, "logits"), rows.at("label"), rows.at("weight")};
    NamedValues scalars;
    for (const Formula& formula : formulas) {
      scalars.emplace_back(scalars.empty() ? "loss" : fmt::format("scalar{}", scalars.size()), formula(given));
    }
    return scalars;
  };
  return {"formulas", forward, loss};
}

JobConfig evaluation_config(int ranks, int64_t batch, DType dtype = DType::f64, int stages = 1) {
  return {.training = {.batch = 12, .epochs = 1, .dtype = dtype},
          .optimizer = {.kind = OptimizerKind::sgd},
          .schedule = {.learning_rate = 0.01},
          .evaluation = {.batch = batch},
          .ranks = {.count = ranks, .threads = 1},
          .plan = {.options = {.parallel = Parallel::hybrid, .pipeline = {.stages = stages}}}};
}

Metrics evaluated(const Network& network, const JobConfig& config, const DatasetPtr& rows) {
  return Model(network, config, Place{.cores = 1}).eval(rows);
}

void expect_same(const Metrics& got, const Metrics& expected, double tolerance) {
  EXPECT_EQ(got.samples, expected.samples);
  EXPECT_EQ(got.correct, expected.correct);
  EXPECT_NEAR(got.loss, expected.loss, tolerance * std::max(1.0, std::abs(expected.loss)));
  ASSERT_EQ(got.others.size(), expected.others.size());
  for (size_t i = 0; i < got.others.size(); ++i) {
    EXPECT_EQ(got.others[i].first, expected.others[i].first);
    EXPECT_NEAR(got.others[i].second, expected.others[i].second,
                tolerance * std::max(1.0, std::abs(expected.others[i].second)));
  }
}

Value row_losses(const Rows& rows) { return sample_losses(Loss::sparse, rows.builder, rows.logits, rows.label); }
Value weighted_loss(const Rows& rows) { return weighted_mean(row_losses(rows), rows.weight); }
Value mean_loss(const Rows& rows) { return build_loss(Loss::sparse, rows.builder, rows.logits, rows.label); }

TEST(EvaluatedLosses, WeightedMeansAreOverAllRows) {
  const Network network = network_of({weighted_loss});
  for (const int64_t count : {12, 37}) {
    const DatasetPtr rows = weighted_rows(count, DType::f64);
    const Metrics expected = evaluated(network, evaluation_config(1, count), rows);
    for (const int ranks : {1, 2, 3, 4, 6, 8}) {
      for (const int64_t batch : {1, 3, 4, 5, 12, 36}) {
        SCOPED_TRACE(fmt::format("{} rows, {} ranks, batch {}", count, ranks, batch));
        const Metrics got = evaluated(network, evaluation_config(ranks, batch), rows);
        EXPECT_NEAR(got.loss, expected.loss, 1e-12);
        EXPECT_EQ(got.correct, expected.correct);
      }
    }
  }
}

// A loss leaves out samples of one class, whether the loss or the configuration says which.
TEST(EvaluatedLosses, IgnoredSamplesCountForNothing) {
  const DatasetPtr rows = weighted_rows(50, DType::f64);
  const Network network = network_of({[](const Rows& given) {
                                        return build_loss(Loss::sparse, given.builder, given.logits, given.label,
                                                          {.ignore_index = kIgnoredLabel});
                                      },
                                      mean_loss});
  int64_t left = 0;
  for (int64_t i = 0; i < rows->size(); ++i) left += random_below(6, static_cast<uint64_t>(i) << 8, 0, kClasses) != 3;
  ASSERT_LT(left, 50);
  const Metrics expected = evaluated(network, evaluation_config(1, 50), rows);
  EXPECT_EQ(expected.samples, left);
  const Metrics all = evaluated(network_of({mean_loss}), evaluation_config(1, 50), rows);
  EXPECT_EQ(all.samples, 50);
  EXPECT_NEAR(all.loss, expected.others.at(0).second, 1e-12);
  for (const int ranks : {1, 3, 4}) {
    for (const int64_t batch : {4, 7, 50}) {
      SCOPED_TRACE(fmt::format("{} ranks, batch {}", ranks, batch));
      expect_same(evaluated(network, evaluation_config(ranks, batch), rows), expected, 1e-12);
      // A class that the configuration names is left out of the counts, not of scalars that do not leave it out.
      JobConfig config = evaluation_config(ranks, batch);
      config.training.ignore_index = kIgnoredLabel;
      const Metrics counted = evaluated(network_of({mean_loss}), config, rows);
      EXPECT_EQ(counted.samples, left);
      EXPECT_NEAR(counted.loss, all.loss, 1e-12);
    }
  }
}

/// A number for every row.
Formula random_element(uint64_t key, uint64_t at) {
  switch (random_below(key, at, 1, 5)) {
    case 0: return row_losses;
    case 1: return [](const Rows& rows) { return reduce_mean(square(rows.logits), {-1}); };
    case 2: return [](const Rows& rows) { return mul(row_losses(rows), rows.weight); };
    case 3: return [](const Rows& rows) { return rows.weight; };
    default:  // of a constant for every row
      return
          [](const Rows& rows) { return mul(row_losses(rows), constant(rows.builder, 0.5, row_losses(rows).type())); };
  }
}

Formula random_sum(uint64_t key, uint64_t at) {
  const Formula x = random_element(key, at * 2), y = random_element(key, at * 2 + 1);
  switch (random_below(key, at, 2, 8)) {
    case 0: return [=](const Rows& rows) { return reduce_mean(x(rows)); };
    case 1: return [=](const Rows& rows) { return reduce_sum(x(rows)) * 0.1; };
    case 2: return [=](const Rows& rows) { return weighted_mean(x(rows), rows.weight); };
    case 3: return [=](const Rows& rows) { return div(reduce_sum(mul(x(rows), y(rows))), reduce_sum(y(rows)) + 1); };
    case 4: return [=](const Rows& rows) { return reduce_max(x(rows)); };
    case 5: return [=](const Rows& rows) { return reduce_min(x(rows)); };
    case 6:  // a variance: two passes
      return [=](const Rows& rows) {
        const Value one = x(rows);
        return reduce_mean(square(sub(one, reduce_mean(one))));
      };
    default:
      return [](const Rows& rows) {
        return build_loss(Loss::sparse, rows.builder, rows.logits, rows.label, {.ignore_index = kIgnoredLabel});
      };
  }
}

Formula random_formula(uint64_t key, uint64_t at) {
  const Formula a = random_sum(key, 3 * at), b = random_sum(key, 3 * at + 1);
  switch (random_below(key, at, 3, 4)) {
    case 0: return a;
    case 1: return [=](const Rows& rows) { return add(a(rows), b(rows) * 0.3); };
    case 2: return [=](const Rows& rows) { return div(a(rows), square(b(rows)) + 1); };
    default: return [=](const Rows& rows) { return sqrt(add(square(a(rows)), square(b(rows))) + 1); };
  }
}

TEST(EvaluatedLosses, RandomFormulasAreThoseOfOneBatch) {
  constexpr uint64_t kKey = 20;
  constexpr std::array<int, 6> kRanks{1, 2, 3, 4, 6, 8};
  for (uint64_t i = 0; i < 40; ++i) {
    const auto pick = [&](uint64_t what, int64_t below) {
      return static_cast<int64_t>(random_below(kKey + 7, i, what, static_cast<uint64_t>(below)));
    };
    const DType dtype = i % 4 == 3 ? DType::f32 : DType::f64;
    const int64_t count = 2 + pick(0, 50);
    const Network network = network_of({random_formula(kKey, 3 * i), random_formula(kKey, 3 * i + 1), weighted_loss});
    const DatasetPtr rows = weighted_rows(count, dtype, kKey + i);
    const Metrics expected = evaluated(network, evaluation_config(1, count, dtype), rows);
    for (uint64_t k = 0; k < 3; ++k) {
      const int ranks = kRanks[static_cast<size_t>(pick(1 + 3 * k, 6))];
      const int64_t batch = 1 + pick(2 + 3 * k, count);
      const int stages = ranks > 1 && pick(3 + 3 * k, 3) == 0 ? 2 : 1;
      SCOPED_TRACE(fmt::format("case {}, {} {} rows, batch {}, {} ranks, {} stages", i, count, name_of(dtype), batch,
                               ranks, stages));
      expect_same(evaluated(network, evaluation_config(ranks, batch, dtype, stages), rows), expected,
                  dtype == DType::f64 ? 1e-12 : 1e-6);
      if (HasFailure()) return;
    }
  }
}

// A network that takes one number of rows alone, as one with a reshape to it.
TEST(EvaluatedLosses, BatchesOfAFixedSizeAreRepeated) {
  const std::vector<Formula> formulas{mean_loss, weighted_loss, [](const Rows& rows) {
                                        const Value one = row_losses(rows);
                                        return reduce_mean(square(sub(one, reduce_mean(one))));
                                      }};
  const DatasetPtr rows = weighted_rows(18, DType::f64);
  const Metrics expected = evaluated(network_of(formulas), evaluation_config(1, 18), rows);
  for (const int ranks : {1, 2, 3}) {
    expect_same(evaluated(network_of(formulas, 6), evaluation_config(ranks, 6), rows), expected, 1e-12);
    JobConfig config = evaluation_config(ranks, /*batch=*/0);
    config.training.batch = 6;
    expect_same(evaluated(network_of(formulas, 6), config, rows), expected, 1e-12);
  }
  EXPECT_THROW(evaluated(network_of(formulas, 5), evaluation_config(1, 5), rows), InvalidArgument);
}

// A validation, what early stopping watches, and an evaluation under the ranks and micro-batches of a training.
TEST(EvaluatedLosses, AreTheSameWithinATraining) {
  const Network network = network_of({mean_loss, weighted_loss});
  const DatasetPtr rows = weighted_rows(24, DType::f64), test = weighted_rows(37, DType::f64, 9);
  for (const auto& [ranks, stages, micro_batches] : {std::tuple{1, 1, 1}, {3, 1, 2}, {4, 2, 3}, {2, 2, 1}}) {
    SCOPED_TRACE(fmt::format("{} ranks, {} stages, {} micro-batches", ranks, stages, micro_batches));
    JobConfig config = evaluation_config(ranks, 0, DType::f64, stages);
    config.plan.options.micro_batches = micro_batches;
    std::optional<Metrics> validation;
    double watched = 0;
    std::ostringstream out;
    EarlyStopping stopping(
        {.monitor = [&](const EpochInfo& info) { return watched = info.validation->others.at(0).second; }}, out);
    LambdaCallback keep;
    keep.epoch_end = [&](const EpochInfo& info) { validation = info.validation; };
    Model model(network, config, Place{.cores = 1});
    std::string said;
    model.on_program([&](const std::string& text) { said += text; });
    model.train(rows, {.epochs = 2, .validation = test, .callbacks = {&keep, &stopping}});
    Model alone(network, evaluation_config(1, 37), Place{.cores = 1});
    alone.assign(model.states());
    const Metrics expected = alone.eval(test);
    ASSERT_TRUE(validation.has_value());
    expect_same(*validation, expected, 1e-12);
    expect_same(model.eval(test), expected, 1e-12);
    EXPECT_EQ(watched, validation->others.at(0).second);
    EXPECT_NE(said.find("memory with an evaluation: "), std::string::npos) << said;
  }
}

// A node that is no sum over rows is computed where one batch has them all, and refused by name elsewhere.
TEST(EvaluatedLosses, WhatNeedsAllRowsAtOnceIsRefused) {
  const Network network = network_of({[](const Rows& rows) { return reduce_mean(cumsum(row_losses(rows), 0)); }});
  const DatasetPtr rows = weighted_rows(14, DType::f64);
  const double expected = evaluated(network, evaluation_config(1, 14), rows).loss;
  EXPECT_GT(expected, 0);
  for (const int ranks : {1, 3}) {
    EXPECT_NEAR(evaluated(network, evaluation_config(ranks, 20), rows).loss, expected, 1e-12);
    EXPECT_NEAR(evaluated(network, evaluation_config(ranks, 0), rows).loss, expected, 1e-12);
    try {
      evaluated(network, evaluation_config(ranks, 6), rows);
      FAIL() << "not refused";
    } catch (const InvalidArgument& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find("[eval] a node needs all rows at once, got loss/cumsum ("), std::string::npos) << what;
      EXPECT_NE(what.find("evaluation_losses_test.cpp:"), std::string::npos) << what;
      EXPECT_NE(what.find(") with batches of 6 of 14 rows, expected all rows in one batch (--eval-batch 14), or sums "
                          "and means over the rows"),
                std::string::npos)
          << what;
    }
  }
}

// An evaluation needs no more memory than the training that it follows, and says so.
TEST(EvaluatedLosses, FitWhereTheTrainingFits) {
  const ZooModel zoo = make_model("gpt:layers=2,hidden=32,heads=4,seq=16,vocab=96");
  const DatasetPtr rows = generated_rows(zoo.columns(), 600, [](int64_t, int64_t index, std::span<const Tensor> row) {
    for (const Tensor& ids : row) {
      for (int64_t i = 0; i < ids.type.elements(); ++i) ids.as<int32_t>()[i] = static_cast<int32_t>((index + i) % 96);
    }
  });
  for (const auto& [ranks, stages, micro_batches] : {std::tuple{1, 1, 1}, {1, 1, 4}, {2, 1, 4}, {2, 2, 4}}) {
    SCOPED_TRACE(fmt::format("{} ranks, {} stages, {} micro-batches", ranks, stages, micro_batches));
    JobConfig config = zoo.recipe;
    config.training.batch = 16;
    config.ranks = {.count = ranks, .threads = 1};
    config.plan.options = {.micro_batches = micro_batches, .pipeline = {.stages = stages}};
    const auto memory_said = [&](int64_t batch, const std::string& key) {
      config.evaluation.batch = batch;
      Model model(zoo.network(config.training.loss, {}), config, Place{.cores = 1});
      std::string said;
      model.on_program([&](const std::string& text) { said += text; });
      model.train(rows, {.max_steps = 1, .validation = rows});
      const size_t at = said.find(key);
      return at == std::string::npos ? said : said.substr(at + key.size(), said.find(" of each", at) - at - key.size());
    };
    const std::string training = memory_said(0, "memory: ");
    EXPECT_EQ(memory_said(0, "memory with an evaluation: "), training);
    EXPECT_EQ(memory_said(16 / micro_batches, "memory with an evaluation: "), training);
    EXPECT_NE(memory_said(600, "memory with an evaluation: "), training);
  }
}

}  // namespace
}  // namespace partita
