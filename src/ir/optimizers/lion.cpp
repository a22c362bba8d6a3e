#include "ir/optimizers/shared_options.h"
#include "ir/optimizers/update_op.h"

namespace partita {
namespace {

struct LionAttrs {
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
  static constexpr auto fields() {
    using A = LionAttrs;
    return std::tuple{field("beta1", &A::beta1), field("beta2", &A::beta2), field("weight_decay", &A::weight_decay)};
  }
};

template <class T>
struct LionStep : UpdateStep<LionAttrs, Scalars::rate, 3, 0, 2> {
  T rate, decay, keep1, take1, keep2, take2;

  template <class Scalar, class Cast>
  LionStep(const LionAttrs& attrs, const Scalar& learning_rate, const Scalar&, const Cast& cast)
      : rate(cast(learning_rate)),
        decay(static_cast<T>(attrs.weight_decay)),
        keep1(static_cast<T>(attrs.beta1)),
        take1(static_cast<T>(1 - attrs.beta1)),
        keep2(static_cast<T>(attrs.beta2)),
        take2(static_cast<T>(1 - attrs.beta2)) {}

  void apply(std::array<T, kTensors>& x) const {
    auto& [w, gradient, m] = x;
    const T mixed = keep1 * m + take1 * gradient;
    const T sign = select_of(mixed > T(0), T(1), select_of(mixed < T(0), T(-1), T(0)));
    w = w - rate * (sign + decay * w);
    m = keep2 * m + take2 * gradient;
  }
};

}  // namespace

std::vector<OptimizerDef> lion_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "lion";
  optimizer.summary =
      "w -= rate (sign(beta1 m + (1 - beta1) g) + weight_decay w); m = beta2 m + (1 - beta2) g (Chen et al., 2023)";
  optimizer.states = {{"exp_avg", "the mean m of gradients"}};
  optimizer.options = {beta1_option(0.9), beta2_option(0.99)};
  optimizer.build = [](const UpdateCall& call) {
    const Value mean = call.state("exp_avg");
    const LionAttrs attrs{.beta1 = call.number("beta1"), .beta2 = call.number("beta2"), .weight_decay = call.decay};
    call.store_results("lion", {call.parameter, call.gradient, mean, call.rate}, attrs, {call.parameter, mean});
  };
  optimizer.ops = {update_op<LionStep>(
      "lion",
      "(w, g, m, rate): w -= rate (sign(beta1 m + (1 - beta1) g) + weight_decay w); m = beta2 m + (1 - beta2) g", 11,
      {}, {{}, {0.8, 0.95, 0.1}})};
  optimizer.python = {
      .name = "Lion",
      .parameters = {{"learning_rate", "0.0001"}, {"beta1", "0.9"}, {"beta2", "0.99"}, {"weight_decay", "0.0"}}};
  return {optimizer};
}

}  // namespace partita
