#include "ir/optimizers/terms.h"

namespace partita {
namespace {

void build_adagrad(const UpdateCall& call) {
  const Term gradient = decayed_gradient(call);
  const Value sum = call.state("sum", filled(call.number("initial_sum")));
  Term total = sum;
  if (call.is_on("adds_squares")) {
    total = total + square(gradient);
    call.builder.store(sum, total);
  }
  const Term step = Term(call.rate) * gradient;
  call.builder.store(call.parameter, Term(call.parameter) - step * inverse_root(total));
}

}  // namespace

std::vector<OptimizerDef> adagrad_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "adagrad";
  optimizer.summary = "s += g^2; w -= rate g / sqrt(s) (Duchi et al., 2011)";
  optimizer.states = {{"sum", "the sum s of squared gradients", "adds_squares"}};
  optimizer.options = {{.name = "initial_sum", .standard = 0.1, .most = 1e30, .help = "First sum of squared gradients"},
                       {.name = "adds_squares",
                        .standard = 1,
                        .help = "Add the squared gradients to their sum, instead of keeping the first sum",
                        .is_switch = true}};
  optimizer.build = build_adagrad;
  optimizer.python = {.name = "Adagrad",
                      .parameters = {{"accum", "0.1", "initial_sum"},
                                     {"learning_rate", "0.001"},
                                     {"update_slots", "True", "adds_squares"},
                                     {"loss_scale", "1.0"},
                                     {"weight_decay", "0.0"}},
                      .documented = {{"sum", "accum"}}};
  return {optimizer};
}

}  // namespace partita
