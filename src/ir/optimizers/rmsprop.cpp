#include "ir/optimizers/shared_options.h"
#include "ir/optimizers/terms.h"

namespace partita {
namespace {

void build_rmsprop(const UpdateCall& call) {
  require_epsilon("rmsprop", call);
  const Term gradient = decayed_gradient(call);
  const double rho = call.number("rho"), momentum = call.number("momentum");
  const Value squares = call.state("square_avg", filled(1));
  const Term kept = Term(squares) * rho;
  Term square_mean = kept + square(gradient) * (1 - rho);
  call.builder.store(squares, square_mean);
  if (call.is_on("centered")) {
    const Value gradients = call.state("grad_avg", filled(0));
    const Term mean = averaged(gradients, rho, gradient);
    call.builder.store(gradients, mean);
    square_mean = square_mean - square(mean);
  }
  const Term scaled = Term(call.rate) * gradient;
  Term step = scaled * inverse_root(square_mean + call.number("epsilon"));
  if (momentum > 0) {
    const Value steps = call.state("step_momentum", filled(0));
    step = Term(steps) * momentum + step;
    call.builder.store(steps, step);
  }
  call.builder.store(call.parameter, Term(call.parameter) - step);
}

}  // namespace

std::vector<OptimizerDef> rmsprop_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "rmsprop";
  optimizer.summary =
      "s averages g^2; w -= rate g / sqrt(s + epsilon), with the momentum of these steps (Hinton, 2012); centered: "
      "with the variance of g in place of s (Graves, 2013)";
  optimizer.states = {{"square_avg", "the mean s of squared gradients"},
                      {"grad_avg", "the mean of gradients", "centered"},
                      {"step_momentum", "the momentum of steps", "momentum"}};
  optimizer.options = {rho_option(0.9),
                       momentum_option(0),
                       epsilon_option(1e-10),
                       {.name = "centered",
                        .help = "Divide by the standard deviation of the gradient instead of its root mean square",
                        .is_switch = true}};
  optimizer.build = build_rmsprop;
  optimizer.python = {.name = "RMSProp",
                      .parameters = {{"learning_rate", "0.1"},
                                     {"decay", "0.9", "rho"},
                                     {"momentum", "0.0"},
                                     {"epsilon", "1e-10"},
                                     {.name = "use_locking", .standard = "False", .use = PythonParameter::ignored},
                                     {"centered", "False"},
                                     {"loss_scale", "1.0"},
                                     {"weight_decay", "0.0"}},
                      .renamed = {{"momentum", "step_momentum", "square_avg"}},
                      .documented = {{"square_avg", "mean_square"},
                                     {"grad_avg", "mean_grad"},
                                     {"step_momentum", "moment"}}};
  return {optimizer};
}

}  // namespace partita
