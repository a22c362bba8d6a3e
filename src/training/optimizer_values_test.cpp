// Steps of optimizers on given gradients, against their formulas written down a second time.

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/optimizer.h"
#include "ir/optimizers/registry.h"
#include "training/stepper.h"

namespace partita {
namespace {

using Numbers = std::vector<double>;

constexpr double kRate = 0.05, kDecay = 0.02;
constexpr int kSteps = 4;

Numbers gradient_of(size_t count, int step, double size = 1) {
  Numbers g(count);
  for (size_t i = 0; i < count; ++i) g[i] = size * std::sin(1.7 * static_cast<double>(i * i) + 0.9 * step + 0.3);
  return g;
}

Numbers begin_of(size_t count) {
  Numbers w(count);
  for (size_t i = 0; i < count; ++i) w[i] = 0.5 * std::cos(2.3 * static_cast<double>(i) + 0.1);
  return w;
}

int64_t count_of(const Shape& shape) { return Type{DType::f64, shape}.elements(); }

using Gradients = std::function<Numbers(int step)>;

/// Returns the parameter after the steps of the library.
Numbers stepped(const OptimizerOptions& options, const Shape& shape, const Gradients& gradients, DType dtype) {
  const auto count = static_cast<size_t>(count_of(shape));
  const JobConfig config{.training = {.dtype = dtype}, .ranks = {.threads = 1}};
  const auto build = [&](Context& context) {
    Builder& builder = context.builder();
    const Value g = builder.input("g", Type{dtype, shape}), rate = builder.input("rate", Type{dtype, {}});
    const Value w = builder.state("w", Type{dtype, shape}, {.init = {.kind = InitKind::ones}});
    builder.phase = Phase::update;
    build_update(builder, options, w, g, rate);
    builder.phase = Phase::forward;
    context.step();
    builder.output("rate_again", builder.apply("neg", {rate}));
  };
  const auto array = [&](const Shape& of, const Numbers& numbers) {
    if (dtype == DType::f64) return Array(of, numbers);
    return Array(of, std::vector<float>(numbers.begin(), numbers.end()));
  };
  Stepper stepper(config, Place{.cores = 1}, build, [&] { return States{{"w", array(shape, begin_of(count))}}; });
  for (int step = 0; step < kSteps; ++step) {
    stepper.run({{"g", array(shape, gradients(step))}, {"rate", array({}, {kRate})}});
  }
  Numbers found(count);
  for (size_t i = 0; i < count; ++i) found[i] = stepper.state("w").at(static_cast<int64_t>(i));
  return found;
}

/// One step of a formula: changes w by the gradient of step t, counted from 1. Keeps its states itself.
using Formula = std::function<void(Numbers& w, const Numbers& g, int t)>;

void expect_formula(const OptimizerOptions& options, const Shape& shape, const Formula& formula,
                    double gradient_size = 1, DType dtype = DType::f64, double tolerance = 1e-10) {
  const auto count = static_cast<size_t>(count_of(shape));
  const Gradients gradients = [=](int step) { return gradient_of(count, step, gradient_size); };
  Numbers w = begin_of(count);
  for (int step = 0; step < kSteps; ++step) formula(w, gradients(step), step + 1);
  const Numbers found = stepped(options, shape, gradients, dtype);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_NEAR(found[i], w[i], tolerance) << options.kind.name << ", element " << i << " of " << print(shape);
  }
}

double norm(const Numbers& x) {
  double sum = 0;
  for (const double one : x) sum += one * one;
  return std::sqrt(sum);
}

TEST(OptimizerValues, OfAdagrad) {
  for (const bool adds : {true, false}) {
    Numbers sum(6, 0.3);
    OptimizerOptions options{.kind = "adagrad", .weight_decay = kDecay};
    options.others = {{"initial_sum", 0.3}, {"adds_squares", adds ? 1.0 : 0.0}};
    expect_formula(options, {2, 3}, [&](Numbers& w, const Numbers& g, int) {
      for (size_t i = 0; i < w.size(); ++i) {
        const double d = g[i] + kDecay * w[i];
        if (adds) sum[i] += d * d;
        w[i] -= kRate * d / std::sqrt(sum[i]);
      }
    });
  }
}

TEST(OptimizerValues, OfRmsprop) {
  for (const bool centered : {false, true}) {
    Numbers squares(6, 1), means(6), steps(6);
    OptimizerOptions options{.kind = "rmsprop", .momentum = 0.6, .epsilon = 1e-3};
    options.others = {{"rho", 0.8}, {"centered", centered ? 1.0 : 0.0}};
    expect_formula(options, {6}, [&](Numbers& w, const Numbers& g, int) {
      for (size_t i = 0; i < w.size(); ++i) {
        squares[i] = 0.8 * squares[i] + 0.2 * g[i] * g[i];
        means[i] = 0.8 * means[i] + 0.2 * g[i];
        const double spread = squares[i] - (centered ? means[i] * means[i] : 0);
        steps[i] = 0.6 * steps[i] + kRate * g[i] / std::sqrt(spread + 1e-3);
        w[i] -= steps[i];
      }
    });
  }
}

TEST(OptimizerValues, OfAdamax) {
  Numbers mean(6), most(6);
  expect_formula({.kind = "adamax", .weight_decay = kDecay, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-4}, {2, 3},
                 [&](Numbers& w, const Numbers& g, int t) {
                   for (size_t i = 0; i < w.size(); ++i) {
                     const double d = g[i] + kDecay * w[i];
                     mean[i] = 0.8 * mean[i] + 0.2 * d;
                     most[i] = std::max(0.95 * most[i], std::abs(d));
                     w[i] -= kRate / (1 - std::pow(0.8, t)) * mean[i] / (most[i] + 1e-4);
                   }
                 });
}

TEST(OptimizerValues, OfAdadelta) {
  Numbers squares(6), deltas(6);
  OptimizerOptions options{.kind = "adadelta", .epsilon = 1e-4};
  options.others = {{"rho", 0.7}};
  expect_formula(options, {2, 3}, [&](Numbers& w, const Numbers& g, int) {
    for (size_t i = 0; i < w.size(); ++i) {
      squares[i] = 0.7 * squares[i] + 0.3 * g[i] * g[i];
      const double step = std::sqrt(deltas[i] + 1e-4) / std::sqrt(squares[i] + 1e-4) * g[i];
      deltas[i] = 0.7 * deltas[i] + 0.3 * step * step;
      w[i] -= kRate * step;
    }
  });
}

TEST(OptimizerValues, OfLion) {
  Numbers mean(6);
  expect_formula({.kind = "lion", .weight_decay = kDecay, .beta1 = 0.8, .beta2 = 0.95}, {6},
                 [&](Numbers& w, const Numbers& g, int) {
                   for (size_t i = 0; i < w.size(); ++i) {
                     const double mixed = 0.8 * mean[i] + 0.2 * g[i];
                     w[i] -= kRate * ((mixed > 0) - (mixed < 0) + kDecay * w[i]);
                     mean[i] = 0.95 * mean[i] + 0.05 * g[i];
                   }
                 });
}

TEST(OptimizerValues, OfLars) {
  for (const Shape& shape : {Shape{2, 3}, Shape{6}}) {
    Numbers velocity(6);
    OptimizerOptions options{.kind = "lars", .momentum = 0.7, .weight_decay = kDecay, .epsilon = 1e-4};
    options.others = {{"trust", 0.02}};
    expect_formula(options, shape, [&](Numbers& w, const Numbers& g, int) {
      const double ratio = shape.size() < 2 ? 1 : 0.02 * norm(w) / (norm(g) + kDecay * norm(w) + 1e-4);
      for (size_t i = 0; i < w.size(); ++i) {
        velocity[i] = 0.7 * velocity[i] + kRate * ratio * (g[i] + kDecay * w[i]);
        w[i] -= velocity[i];
      }
    });
  }
}

TEST(OptimizerValues, OfLamb) {
  Numbers mean(6), squares(6), direction(6);
  expect_formula({.kind = "lamb", .weight_decay = kDecay, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-4}, {2, 3},
                 [&](Numbers& w, const Numbers& g, int t) {
                   for (size_t i = 0; i < w.size(); ++i) {
                     mean[i] = 0.8 * mean[i] + 0.2 * g[i];
                     squares[i] = 0.95 * squares[i] + 0.05 * g[i] * g[i];
                     const double m = mean[i] / (1 - std::pow(0.8, t)), v = squares[i] / (1 - std::pow(0.95, t));
                     direction[i] = m / (std::sqrt(v) + 1e-4) + kDecay * w[i];
                   }
                   const double ratio = norm(w) / norm(direction);
                   for (size_t i = 0; i < w.size(); ++i) w[i] -= kRate * ratio * direction[i];
                 });
}

/// Adafactor on a matrix, or on a vector if there is one row.
void expect_adafactor(const Shape& shape, size_t rows, size_t columns, bool scales) {
  Numbers row(rows), column(columns), each(rows * columns);
  OptimizerOptions options{.kind = "adafactor", .weight_decay = kDecay};
  options.others = {{"decay_exponent", 0.6}, {"clip_rms", 0.7}, {"scales_rate", scales ? 1.0 : 0.0}};
  expect_formula(options, shape, [&, rows, columns](Numbers& w, const Numbers& g, int t) {
    const double take = std::pow(t, -0.6);
    Numbers row_now(rows), column_now(columns), u(w.size());
    for (size_t i = 0; i < w.size(); ++i) {
      const double square = g[i] * g[i] + 1e-30;
      row_now[i / columns] += square / static_cast<double>(columns);
      column_now[i % columns] += square / static_cast<double>(rows);
      each[i] = (1 - take) * each[i] + take * square;
    }
    double mean = 0;
    for (size_t r = 0; r < rows; ++r) {
      row[r] = (1 - take) * row[r] + take * row_now[r];
      mean += row[r] / static_cast<double>(rows);
    }
    for (size_t c = 0; c < columns; ++c) column[c] = (1 - take) * column[c] + take * column_now[c];
    for (size_t i = 0; i < w.size(); ++i) {
      u[i] = g[i] / std::sqrt(shape.size() < 2 ? each[i] : row[i / columns] * column[i % columns] / mean);
    }
    const auto rms = [](const Numbers& x) { return norm(x) / std::sqrt(static_cast<double>(x.size())); };
    const double clip = std::max(1.0, rms(u) / 0.7), rate = scales ? kRate * std::max(1e-3, rms(w)) : kRate;
    for (size_t i = 0; i < w.size(); ++i) w[i] -= rate * u[i] / clip + kRate * kDecay * w[i];
  });
}

TEST(OptimizerValues, OfAdafactor) {
  for (const bool scales : {true, false}) {
    expect_adafactor({2, 3}, 2, 3, scales);
    expect_adafactor({3, 2, 1, 2}, 3, 4, scales);
    expect_adafactor({5}, 1, 5, scales);
  }
}

/// Returns the result of five steps of the iteration on a matrix [rows, columns].
Numbers orthogonalized(Numbers x, size_t rows, size_t columns) {
  const double divisor = norm(x) + 1e-7;
  for (double& one : x) one /= divisor;
  const auto product = [](const Numbers& a, const Numbers& b, size_t m, size_t inner, size_t n) {
    Numbers y(m * n);
    for (size_t i = 0; i < m; ++i) {
      for (size_t k = 0; k < inner; ++k) {
        for (size_t j = 0; j < n; ++j) y[i * n + j] += a[i * inner + k] * b[k * n + j];
      }
    }
    return y;
  };
  for (int step = 0; step < 5; ++step) {
    Numbers turned(x.size());
    for (size_t i = 0; i < x.size(); ++i) turned[i % columns * rows + i / columns] = x[i];
    const Numbers gram = product(x, turned, rows, columns, rows);  // also of tall matrices: a X + (b G + c G G) X
    const Numbers cubic = product(gram, x, rows, rows, columns), quintic = product(gram, cubic, rows, rows, columns);
    for (size_t i = 0; i < x.size(); ++i) x[i] = 3.4445 * x[i] - 4.775 * cubic[i] + 2.0315 * quintic[i];
  }
  return x;
}

void expect_muon(const Shape& shape, size_t rows, size_t columns, bool match_rms, bool nesterov,
                 double gradient_size = 1, DType dtype = DType::f64, double tolerance = 1e-10) {
  const size_t matrices = static_cast<size_t>(count_of(shape)) / (rows * columns);
  Numbers velocity(matrices * rows * columns);
  OptimizerOptions options{.kind = "muon", .momentum = 0.8, .nesterov = nesterov, .weight_decay = kDecay};
  options.others = {{"match_rms", match_rms ? 1.0 : 0.0}};
  const auto r = static_cast<double>(rows), c = static_cast<double>(columns);
  const double scale = match_rms ? 0.2 * std::sqrt(std::max(r, c)) : std::sqrt(std::max(1.0, r / c));
  expect_formula(
      options, shape,
      [&](Numbers& w, const Numbers& g, int) {
        for (size_t first = 0; first < w.size(); first += rows * columns) {
          Numbers u(rows * columns);
          for (size_t i = 0; i < u.size(); ++i) {
            double& v = velocity[first + i];
            v = 0.8 * v + g[first + i];
            u[i] = nesterov ? g[first + i] + 0.8 * v : v;
          }
          const Numbers o = orthogonalized(u, rows, columns);
          for (size_t i = 0; i < o.size(); ++i) {
            w[first + i] = (1 - kRate * kDecay) * w[first + i] - kRate * scale * o[i];
          }
        }
      },
      gradient_size, dtype, tolerance);
}

TEST(OptimizerValues, OfMuon) {
  for (const bool match_rms : {true, false}) {
    for (const bool nesterov : {true, false}) {
      expect_muon({4, 6}, 4, 6, match_rms, nesterov);
      expect_muon({7, 3}, 7, 3, match_rms, nesterov);
    }
  }
  expect_muon({4, 2, 3, 3}, 4, 18, true, true);  // filters
  expect_muon({3, 4, 5}, 4, 5, true, true);      // a batch of matrices
  expect_muon({40, 70}, 40, 70, true, true);     // tiles of the fast kernel
  expect_muon({40, 70}, 40, 70, true, true, 1, DType::f32, 2e-5);
}

// Gradients of size 1e-200 and 1e200 are far below epsilon, and have squares that f64 does not hold.
TEST(OptimizerValues, OfMuonOnGradientsOfAnySize) {
  expect_muon({4, 6}, 4, 6, true, true, 1e-3);
  expect_muon({4, 6}, 4, 6, true, true, 1e-200);
  OptimizerOptions options{.kind = "muon"};
  const Numbers usual = stepped(
      options, {4, 6}, [](int step) { return gradient_of(24, step, 1e3); }, DType::f64);
  const Numbers large = stepped(
      options, {4, 6}, [](int step) { return gradient_of(24, step, 1e200); }, DType::f64);
  for (size_t i = 0; i < usual.size(); ++i) EXPECT_NEAR(large[i], usual[i], 1e-8);
}

TEST(OptimizerValues, OfMuonWithoutAGradientAndOfLowRank) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Numbers still = stepped(
        {.kind = "muon"}, {4, 6}, [](int) { return Numbers(24); }, dtype);
    const Numbers begin = begin_of(24);
    for (size_t i = 0; i < 24; ++i) EXPECT_NEAR(still[i], begin[i], 1e-7);
    const auto rank_one = [](int) {
      Numbers g(24);
      for (size_t i = 0; i < 24; ++i) g[i] = (1.0 + static_cast<double>(i / 6)) * std::sin(static_cast<double>(i % 6));
      return g;
    };
    const Numbers moved = stepped({.kind = "muon"}, {4, 6}, rank_one, dtype);
    double distance = 0;
    for (size_t i = 0; i < 24; ++i) {
      ASSERT_TRUE(std::isfinite(moved[i]));
      distance += (moved[i] - begin[i]) * (moved[i] - begin[i]);
    }
    // A step of rank one has one singular value near 1.
    const double expected = kSteps * kRate * 0.2 * std::sqrt(6.0);
    EXPECT_NEAR(std::sqrt(distance), expected, 0.35 * expected);
  }
}

TEST(OptimizerValues, OfMuonForVectorsAreThoseOfAdamw) {
  OptimizerOptions muon{.kind = "muon", .weight_decay = kDecay, .beta1 = 0.8};
  const Gradients gradients = [](int step) { return gradient_of(6, step); };
  const Numbers expected = stepped({.kind = "adamw", .weight_decay = kDecay, .beta1 = 0.8}, {6}, gradients, DType::f64);
  EXPECT_EQ(stepped(muon, {6}, gradients, DType::f64), expected);
  muon.others = {{"adamw_rate", 0.5}};
  EXPECT_NE(stepped(muon, {6}, gradients, DType::f64), expected);
}

TEST(OptimizerValues, RefuseBadOptions) {
  OptimizerOptions options{.kind = "muom"};
  const auto message = [&] {
    try {
      stepped(
          options, {6}, [](int step) { return gradient_of(6, step); }, DType::f64);
      return std::string();
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(message().find("did you mean 'muon'?"), std::string::npos) << message();
  options.kind = "muon";
  options.others = {{"momentun", 0.5}};
  EXPECT_NE(message().find("did you mean 'momentum'?"), std::string::npos) << message();
  options = {.kind = "adamax", .beta1 = 1};
  EXPECT_EQ(message(), "[adamax] bad beta1, got 1, expected a number from 0 to below 1");
  options = {.kind = "lamb", .epsilon = 0};
  EXPECT_EQ(message(), "[lamb] bad epsilon, got 0, expected a number above 0");
  options = {.kind = "rmsprop", .epsilon = 0};
  EXPECT_EQ(message(), "[rmsprop] bad epsilon, got 0, expected a number above 0");
}

}  // namespace
}  // namespace partita
