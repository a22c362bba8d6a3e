#include "ir/optimizers/shared_options.h"
#include "ir/optimizers/terms.h"

namespace partita {
namespace {

/// Returns trust |w| / (|g| + decay |w| + epsilon), or 1 where |w| or |g| is 0.
Term local_rate(const UpdateCall& call) {
  const Term weight = norm_of(call.parameter);
  const Term gradient = norm_of(call.gradient);
  const Term one = number_like(weight, 1, weight.value.type());
  const Term kept = weight * call.decay;
  const Term size = gradient + kept + call.number("epsilon");
  const Term ratio = weight * call.number("trust") / size;
  const Term zero = number_like(weight, 0, weight.value.type());
  return weight.apply("select", {weight.apply("greater", {smaller(weight, gradient), zero}), ratio, one});
}

/// Vectors have the rate of the training: their norms say little.
void build_lars(const UpdateCall& call) {
  const Term gradient = decayed_gradient(call);
  Term rate = call.rate;
  if (call.parameter.type().rank() > 1) rate = rate * local_rate(call);
  const Value velocity = call.state("step_momentum");
  const Term kept = Term(velocity) * call.number("momentum");
  const Term step = kept + rate * gradient;
  call.builder.store(velocity, step);
  call.builder.store(call.parameter, Term(call.parameter) - step);
}

}  // namespace

std::vector<OptimizerDef> lars_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "lars";
  optimizer.summary =
      "v = momentum v + rate trust |w| / (|g| + weight_decay |w| + epsilon) (g + weight_decay w); w -= v; vectors "
      "without the ratio (You et al., 2017)";
  optimizer.states = {{"step_momentum", "the momentum v of steps"}};
  optimizer.options = {momentum_option(0.9),
                       {.name = "trust",
                        .standard = 0.001,
                        .most = 1000,
                        .help = "Size of a matrix's step, as a share of the norm of the matrix"},
                       epsilon_option(1e-8)};
  optimizer.build = build_lars;
  optimizer.python = {.name = "Lars",
                      .parameters = {{"learning_rate", "0.1"},
                                     {"momentum", "0.9"},
                                     {"weight_decay", "0.0"},
                                     {"trust", "0.001"},
                                     {"eps", "1e-08", "epsilon"}}};
  return {optimizer};
}

}  // namespace partita
