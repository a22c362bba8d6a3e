#include "ir/optimizers/shared_options.h"
#include "ir/optimizers/terms.h"

namespace partita {
namespace {

/// Returns |w| / |r|, or 1 where one of them is 0.
Term trust_ratio(const Term& parameter, const Term& direction) {
  const Term weight = norm_of(parameter);
  const Term size = norm_of(direction);
  const Term zero = number_like(weight, 0, weight.value.type());
  const Term one = number_like(weight, 1, weight.value.type());
  const Term ratio = weight / size;
  return weight.apply("select", {weight.apply("greater", {smaller(weight, size), zero}), ratio, one});
}

void build_lamb(const UpdateCall& call) {
  require_betas("lamb", call);
  const double beta1 = call.number("beta1"), beta2 = call.number("beta2");
  const Value first_state = call.state("exp_avg"), second_state = call.state("exp_avg_sq");
  const Term mean = averaged(first_state, beta1, call.gradient);
  const Term squares = averaged(second_state, beta2, square(call.gradient));
  call.builder.store(first_state, mean);
  call.builder.store(second_state, squares);
  const Term step = step_number(call);
  const Term first = 1.0 - power(beta1, step);
  const Term second = 1.0 - power(beta2, step);
  const Term divisor = root(squares / second) + call.number("epsilon");
  Term direction = mean / first / divisor;
  if (call.decay != 0) direction = direction + Term(call.parameter) * call.decay;
  const Term rate = Term(call.rate) * trust_ratio(call.parameter, direction);
  call.builder.store(call.parameter, Term(call.parameter) - rate * direction);
}

}  // namespace

std::vector<OptimizerDef> lamb_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "lamb";
  optimizer.summary =
      "r = m / (sqrt(v) + epsilon) + weight_decay w, without the bias of m and v; w -= rate |w| / |r| r "
      "(You et al., 2020)";
  optimizer.states = {{"exp_avg", "the mean m of gradients"}, {"exp_avg_sq", "the mean v of squared gradients"}};
  optimizer.options = {beta1_option(0.9), beta2_option(0.999), epsilon_option(1e-6)};
  optimizer.counts_steps = true;
  optimizer.build = build_lamb;
  optimizer.python = {.name = "Lamb",
                      .parameters = {{"learning_rate"},
                                     {"beta1", "0.9"},
                                     {"beta2", "0.999"},
                                     {"eps", "1e-06", "epsilon"},
                                     {"weight_decay", "0.0"}},
                      .documented = {{"exp_avg", "lamb_m"}, {"exp_avg_sq", "lamb_v"}}};
  return {optimizer};
}

}  // namespace partita
