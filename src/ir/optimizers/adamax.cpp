#include "ir/optimizers/shared_options.h"
#include "ir/optimizers/terms.h"

namespace partita {
namespace {

void build_adamax(const UpdateCall& call) {
  require_betas("adamax", call);
  const Term gradient = decayed_gradient(call);
  const double beta1 = call.number("beta1"), beta2 = call.number("beta2");
  const Value first = call.state("exp_avg", filled(0));
  const Term mean = averaged(first, beta1, gradient);
  const Value most = call.state("exp_inf", filled(0));
  const Term faded = Term(most) * beta2;
  const Term largest = faded.apply("shared_maximum", {faded, magnitude(gradient)});
  call.builder.store(first, mean);
  call.builder.store(most, largest);
  const Term correction = 1.0 - power(beta1, step_number(call));
  const Term step = Term(call.rate) / correction * mean;
  call.builder.store(call.parameter, Term(call.parameter) - step / (largest + call.number("epsilon")));
}

}  // namespace

std::vector<OptimizerDef> adamax_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "adamax";
  optimizer.summary =
      "u = max(beta2 u, |g|); w -= rate m / (u + epsilon), without the bias of m (Kingma and Ba, 2015, section 7.1)";
  optimizer.states = {{"exp_avg", "the mean m of gradients"}, {"exp_inf", "the fading maximum u of |g|"}};
  optimizer.options = {beta1_option(0.9), beta2_option(0.999), epsilon_option(1e-8)};
  optimizer.counts_steps = true;
  optimizer.build = build_adamax;
  optimizer.python = {.name = "AdaMax",
                      .parameters = {{"learning_rate", "0.001"},
                                     {"beta1", "0.9"},
                                     {"beta2", "0.999"},
                                     {"eps", "1e-08", "epsilon"},
                                     {"weight_decay", "0.0"},
                                     {"loss_scale", "1.0"}},
                      .documented = {{"exp_avg", "moment1"}, {"exp_inf", "moment2"}}};
  return {optimizer};
}

}  // namespace partita
