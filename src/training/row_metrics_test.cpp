// Metrics of all rows equal those of scikit-learn, on any number of ranks and batches.

#include <gtest/gtest.h>

#include <cmath>

#include "base/test_refusal.h"
#include "frontend/data/loading/batch.h"
#include "frontend/data/readers/memory_rows.h"
#include "frontend/network/layers/layers.h"
#include "support/ranks.h"
#include "training/test_training.h"

namespace partita {
namespace {

constexpr int64_t kCount = 37, kClasses = 4;

double logit(int64_t i, int64_t k) {
  return static_cast<double>((i * 7 + k * 13) % 11) - static_cast<double>(i * k % 5) * 1.5 +
         0.01 * static_cast<double>(k);
}
int64_t label(int64_t i) { return (i * 5 + i / 3) % 4 == 3 ? 1 : (i * 5 + i / 3) % 4; }
double number(int64_t i, int64_t k) { return 1000 + static_cast<double>((i * 3 + k * 5) % 17) / 7; }
double answer(int64_t i, int64_t k) { return number(i, k) + static_cast<double>((i * 11 + k * 3) % 13 - 6) / 10; }

Array filled_by(DType dtype, int64_t rows, int64_t columns, const std::function<double(int64_t, int64_t)>& fn) {
  Array array(Type{dtype, columns == 0 ? Shape{rows} : Shape{rows, columns}});
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < std::max<int64_t>(1, columns); ++k)
      array.set(i * std::max<int64_t>(1, columns) + k, fn(i, k));
  }
  return array;
}

/// Returns the metrics of rows that the ranks share in parts of different sizes.
std::map<std::string, double> measure(int ranks, const MetricOptions& options, int64_t outputs,
                                      const std::function<double(int64_t, int64_t)>& output, int64_t labels,
                                      const std::function<double(int64_t, int64_t)>& given,
                                      std::optional<int64_t> ignored = std::nullopt) {
  std::map<std::string, double> values;
  on_ranks(ranks, [&](Communicator& comm) {
    RowMetrics metrics(options);
    int64_t begin = 0;
    for (int part = 0; begin < kCount; ++part) {
      const int64_t rows = std::min<int64_t>(1 + part * 5 % 7, kCount - begin), first = begin;
      begin += rows;
      if (part % std::max(1, comm.size() - 1) != comm.rank()) continue;  // the last rank of several has none
      const Array own =
          filled_by(DType::f64, rows, outputs, [&](int64_t i, int64_t k) { return output(first + i, k); });
      const Array right = filled_by(labels == 0 ? DType::i32 : DType::f32, rows, labels,
                                    [&](int64_t i, int64_t k) { return given(first + i, k); });
      const Array exact =
          labels == 0 ? right
                      : filled_by(DType::f64, rows, labels, [&](int64_t i, int64_t k) { return given(first + i, k); });
      metrics.add(own, exact, ignored);
    }
    const std::vector<Measured> found = metrics.reduced(Metrics{.loss = 2}, comm);
    if (comm.rank() != 0) return;
    for (const Measured& one : found) values[one.name] = one.value;
  });
  return values;
}

using Expected = std::map<std::string, double>;

void expect_near(const Expected& expected, const Expected& got, const std::string& what) {
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_NEAR(got.at(name), value, 1e-12) << name << ": " << what;
  }
}

// Numbers of scikit-learn 1.7, of the same rows, with zero_division 0.
TEST(RowMetrics, EqualThoseOfScikitLearn) {
  const Expected classes{{"precision_macro", 0.33928571428571425}, {"precision_micro", 0.24324324324324326},
                         {"recall_macro", 0.17948717948717949},    {"recall_micro", 0.24324324324324326},
                         {"f1_macro", 0.21481481481481482},        {"f1_micro", 0.24324324324324326}};
  const Expected binary{
      {"precision_binary", 0.69230769230769229}, {"recall_binary", 0.375}, {"f1_binary", 0.48648648648648651}};
  const Expected numbers{{"mae", 0.3279279279279308}, {"mse", 0.14378378378378442}, {"r2", 0.70315990598326028}};
  const Expected several{{"precision_macro", 0.34190624190624191}, {"precision_micro", 0.34234234234234234},
                         {"recall_macro", 0.75641025641025639},    {"recall_micro", 0.76000000000000001},
                         {"f1_macro", 0.46984099043595606},        {"f1_micro", 0.47204968944099379}};
  const auto names = [](const Expected& expected) {
    MetricOptions options;
    for (const auto& [name, value] : expected) options.names.push_back(name);
    return options;
  };
  for (const int ranks : {1, 2, 3, 4, 6, 8}) {
    if (!can_run(ranks)) continue;
    const std::string what = fmt::format("{} ranks", ranks);
    const auto id = [](int64_t i, int64_t) { return static_cast<double>(label(i)); };
    expect_near(classes, measure(ranks, names(classes), kClasses, logit, 0, id), what);
    const auto one_hot = [](int64_t i, int64_t k) { return label(i) == k ? 1.0 : 0.0; };
    expect_near(classes, measure(ranks, names(classes), kClasses, logit, kClasses, one_hot), what);
    const auto is_more = [](int64_t i, int64_t) { return label(i) > 0 ? 1.0 : 0.0; };
    expect_near(binary, measure(ranks, names(binary), 2, logit, 0, is_more), what);
    expect_near(numbers, measure(ranks, names(numbers), 3, answer, 3, number), what);
    MetricOptions of_each = names(several);
    of_each.is_multilabel = true;
    const auto flags = [](int64_t i, int64_t k) { return (i * 3 + k * 5 + i / 4) % 3 == 0 ? 1.0 : 0.0; };
    expect_near(several, measure(ranks, of_each, kClasses, logit, kClasses, flags), what);
  }
}

TEST(RowMetrics, RowsWithTheIgnoredLabelDoNotCount) {
  const MetricOptions options{.names = {"f1_micro", "recall_macro"}};
  const auto id = [](int64_t i, int64_t) { return i % 3 == 0 ? -100.0 : static_cast<double>(label(i)); };
  double hits = 0, rows = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    if (i % 3 == 0) continue;
    int64_t best = 0;
    for (int64_t k = 1; k < kClasses; ++k) best = logit(i, k) > logit(i, best) ? k : best;
    hits += best == label(i);
    ++rows;
  }
  for (const int ranks : {1, 4}) {
    EXPECT_NEAR(measure(ranks, options, kClasses, logit, 0, id, -100).at("f1_micro"), hits / rows, 1e-15);
  }
}

TEST(RowMetrics, LabelsWithoutAVariance) {
  const MetricOptions options{.names = {"r2"}};
  const auto same = [](int64_t, int64_t) { return 3.0; };
  EXPECT_EQ(measure(3, options, 2, same, 2, same).at("r2"), 1);
  EXPECT_EQ(measure(3, options, 2, answer, 2, same).at("r2"), 0);
}

TEST(RowMetrics, RefusesWhatDoesNotFit) {
  const auto id = [](int64_t i, int64_t) { return static_cast<double>(label(i)); };
  EXPECT_EQ(refusal_of([&] { measure(1, {.names = {"f1_binary"}}, kClasses, logit, 0, id); }),
            "[metrics] f1_binary is of two classes, got 4, expected f1_macro or f1_micro");
  EXPECT_EQ(refusal_of([&] { measure(1, {.names = {"mse"}}, kClasses, logit, 0, id); }),
            "[metrics] mae, mse and r2 compare numbers, got labels i32[1] for f64[1,4], expected one for each");
  const std::string unknown = refusal_of([] { parse_metrics("--metrics", {"mse,f1_makro"}); });
  EXPECT_TRUE(unknown.starts_with("[--metrics] unknown name, got 'f1_makro', expected one of mae mse r2 ")) << unknown;
  EXPECT_TRUE(unknown.ends_with(", did you mean 'f1_macro'?")) << unknown;
  using Names = std::vector<std::string>;
  EXPECT_EQ(parse_metrics("--metrics", {"mse,r2", "mse"}), (Names{"mse", "r2"}));
}

DatasetPtr labelled(int64_t columns) {
  const Array inputs = filled_by(DType::f64, kCount, 6, [](int64_t i, int64_t k) { return std::sin(i * 5 + k); });
  const auto target = [](int64_t i, int64_t k) { return std::cos(i + 2 * k); };
  const auto id = [](int64_t i, int64_t) { return static_cast<double>(i * 7 % 4); };
  return memory_rows({{"image", inputs},
                      {"label", columns == 0 ? filled_by(DType::i32, kCount, 0, id)
                                             : filled_by(DType::f64, kCount, columns, target)}});
}

/// The mean of the largest outputs: a metric that no list has.
OwnMetric largest_output() {
  return {.name = "largest",
          .sums = 2,
          .add =
              [](const Array& outputs, const Array&, std::span<double> sums) {
                const int64_t columns = outputs.shape().back(), rows = outputs.type().elements() / columns;
                for (int64_t i = 0; i < rows; ++i) {
                  double most = outputs.at(i * columns);
                  for (int64_t k = 1; k < columns; ++k) most = std::max(most, outputs.at(i * columns + k));
                  sums[0] += most;
                  ++sums[1];
                }
              },
          .value = [](std::span<const double> sums) { return sums[0] / sums[1]; },
          .lower_is_better = true};
}

TEST(RowMetrics, EvaluationsInBatchesOnRanksMeasureAllRows) {
  for (const int64_t columns : {0, 3}) {
    const Loss loss = columns == 0 ? Loss::sparse : Loss::mse;
    const DatasetPtr rows = labelled(columns);
    const Network network("metrics", sequential({dense(columns == 0 ? 4 : columns)}), loss);
    std::vector<std::string> names{"mae,mse", "r2"};
    if (columns == 0) names = {"f1_macro,precision_macro,recall_macro", "f1_micro", "perplexity,top_k_accuracy"};
    Expected expected;
    for (const int ranks : {1, 2, 3, 4, 6, 8}) {
      for (const int64_t batch : {37, 8, 5}) {
        JobConfig config = small_config(ranks);
        config.training.loss = loss;
        config.evaluation = {.batch = batch, .top = 2, .metrics = names};
        Model model(network, config, Place{.cores = 1});
        model.add_metric(largest_output());
        const Metrics metrics = model.eval(rows);
        Expected got;
        for (const Measured& one : metrics.measured) got[one.name] = one.value;
        if (expected.empty()) {
          // Those of one rank and one batch, of the outputs that the network predicts.
          Batcher all(rows, {.batch = kCount});
          Batch whole;
          all.read(0, 0, whole);
          const Array logits = model.predict(whole.arrays[0]);
          MetricOptions options{.names = names, .own = {largest_output()}};
          on_ranks(1, [&](Communicator& comm) {
            RowMetrics alone(options);
            alone.add(logits, whole.arrays[1], std::nullopt);
            for (const Measured& one : alone.reduced(metrics, comm)) expected[one.name] = one.value;
          });
          ASSERT_EQ(expected.size(), got.size());
          if (columns == 0) {
            EXPECT_NEAR(got.at("perplexity"), std::exp(metrics.loss), 1e-12);
            EXPECT_NEAR(got.at("f1_micro"), metrics.accuracy(), 1e-15);
            EXPECT_NEAR(got.at("top_k_accuracy"), metrics.top_accuracy(), 1e-15);
          } else {
            EXPECT_NEAR(got.at("mse"), metrics.loss, 1e-12);
          }
        }
        expect_near(expected, got, fmt::format("{} ranks, batches of {}", ranks, batch));
        EXPECT_TRUE(metrics.find("largest").lower_is_better);
      }
    }
  }
}

}  // namespace
}  // namespace partita
