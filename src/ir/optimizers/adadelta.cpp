#include "ir/optimizers/shared_options.h"
#include "ir/optimizers/terms.h"

namespace partita {
namespace {

void build_adadelta(const UpdateCall& call) {
  const Term gradient = decayed_gradient(call);
  const double rho = call.number("rho"), epsilon = call.number("epsilon");
  const Value squares = call.state("square_avg", filled(0));
  const Term kept = Term(squares) * rho;
  const Term square_mean = kept + square(gradient) * (1 - rho);
  const Value deltas = call.state("delta_avg", filled(0));
  const Term size = root(Term(deltas) + epsilon);
  const Term step = size * inverse_root(square_mean + epsilon) * gradient;
  call.builder.store(squares, square_mean);
  const Term kept_deltas = Term(deltas) * rho;
  call.builder.store(deltas, kept_deltas + square(step) * (1 - rho));
  call.builder.store(call.parameter, Term(call.parameter) - Term(call.rate) * step);
}

}  // namespace

std::vector<OptimizerDef> adadelta_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "adadelta";
  optimizer.summary =
      "s and d average g^2 and the squares of steps; w -= rate sqrt(d + epsilon) / sqrt(s + epsilon) g (Zeiler, 2012)";
  optimizer.states = {{"square_avg", "the mean s of squared gradients"}, {"delta_avg", "the mean d of squared steps"}};
  optimizer.options = {rho_option(0.9), epsilon_option(1e-6)};
  optimizer.build = build_adadelta;
  optimizer.python = {.name = "Adadelta",
                      .parameters = {{"learning_rate", "1.0"},
                                     {"rho", "0.9"},
                                     {"epsilon", "1e-06"},
                                     {"loss_scale", "1.0"},
                                     {"weight_decay", "0.0"}},
                      .documented = {{"square_avg", "accum"}, {"delta_avg", "accum_update"}}};
  return {optimizer};
}

}  // namespace partita
