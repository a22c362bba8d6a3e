#include "ir/optimizers/terms.h"

namespace partita {
namespace {

constexpr double kSmallestSquare = 1e-30, kSmallestScale = 1e-3;  // the epsilons of the paper

/// Returns the mean over dimensions, which the result keeps with size 1.
Term mean_over(const Term& x, const std::vector<int64_t>& axes) {
  const Shape shape = x.value.shape();
  double count = 1;
  for (const int64_t axis : axes) count *= static_cast<double>(shape[static_cast<size_t>(axis)]);
  return sum_over(x, axes, 1 / count, /*keeps=*/true);
}

/// Returns the root of the mean of all squares, a scalar.
Term root_mean_square(const Term& x) {
  return root(sum_of(square(x), 1 / static_cast<double>(x.value.type().elements())));
}

/// Means of squared gradients: of rows and of columns of a matrix, or of each element of a vector. Filters are matrices
/// with a row per first dimension. Of three dimensions the first counts matrices.
class SquaredMeans {
 public:
  explicit SquaredMeans(const UpdateCall& call) : call_(call), rank_(call.parameter.type().rank()) {
    const int64_t row = rank_ == 3 ? 1 : 0;
    row_axes_ = {row};
    for (int64_t axis = row + 1; axis < rank_; ++axis) column_axes_.push_back(axis);
  }

  /// Returns the gradient divided by the root of the means, which are averaged with its squares.
  Term divide() const {
    const Term step = step_number(call_);
    const Term exponent = number_like(step, -call_.number("decay_exponent"), step.value.type());
    const Term take = step.apply("power", {step, exponent});
    const Term keep = 1.0 - take;
    const Term squares = square(call_.gradient) + kSmallestSquare;
    if (rank_ < 2) return Term(call_.gradient) * inverse_root(averaged("exp_avg_sq", squares, keep, take));
    const Term rows = averaged("row_avg_sq", mean_over(squares, column_axes_), keep, take);
    const Term columns = averaged("column_avg_sq", mean_over(squares, row_axes_), keep, take);
    const Term of_row = inverse_root(rows / mean_over(rows, row_axes_));
    const Term by_row = Term(call_.gradient) * of_row;
    return by_row * inverse_root(columns);
  }

 private:
  Term averaged(const std::string& name, const Term& added, const Term& keep, const Term& take) const {
    const Value state = call_.state(name, added.value.type());
    const Term kept = Term(state) * keep;
    const Term mean = kept + added * take;
    call_.builder.store(state, mean);
    return mean;
  }

  const UpdateCall& call_;
  const int rank_;
  std::vector<int64_t> row_axes_, column_axes_;
};

void build_adafactor(const UpdateCall& call) {
  const Term divided = SquaredMeans(call).divide();
  const Term size = root_mean_square(divided) * (1 / call.number("clip_rms"));
  const Term clipped = divided / larger(size, number_like(size, 1, size.value.type()));
  Term rate = call.rate;
  if (call.is_on("scales_rate")) {
    const Term scale = root_mean_square(call.parameter);
    rate = rate * larger(scale, number_like(scale, kSmallestScale, scale.value.type()));
  }
  Term step = rate * clipped;
  if (call.decay != 0) step = step + Term(call.rate) * (Term(call.parameter) * call.decay);
  call.builder.store(call.parameter, Term(call.parameter) - step);
}

}  // namespace

std::vector<OptimizerDef> adafactor_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "adafactor";
  optimizer.summary =
      "u = g / sqrt(r c / mean(r)), where r and c average the squares of rows and columns; w -= rate rms(w) u, where "
      "the root mean square of u is at most clip_rms (Shazeer and Stern, 2018)";
  optimizer.states = {
      {.name = "row_avg_sq", .what = "the mean r of squares of each row of a matrix", .of_some = true},
      {.name = "column_avg_sq", .what = "the mean c of squares of each column of a matrix", .of_some = true},
      {.name = "exp_avg_sq", .what = "the mean of squares of a vector", .of_some = true}};
  optimizer.options = {{.name = "decay_exponent",
                        .standard = 0.8,
                        .help = "Step t has a share of t to the power of minus this in the means of squares"},
                       {.name = "clip_rms",
                        .standard = 1,
                        .least = 1e-6,
                        .most = 1e6,
                        .help = "Maximum root mean square of a step, divided by the learning rate"},
                       {.name = "scales_rate",
                        .standard = 1,
                        .help = "Multiply the learning rate by the root mean square of the parameter, at least 0.001",
                        .is_switch = true}};
  optimizer.counts_steps = true;
  optimizer.build = build_adafactor;
  optimizer.python = {.name = "Adafactor",
                      .parameters = {{"learning_rate", "0.01"},
                                     {"decay_exponent", "0.8"},
                                     {"clip_rms", "1.0"},
                                     {"scales_rate", "True"},
                                     {"weight_decay", "0.0"}}};
  return {optimizer};
}

}  // namespace partita
