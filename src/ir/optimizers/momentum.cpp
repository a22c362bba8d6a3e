#include "ir/optimizers/shared_options.h"
#include "ir/optimizers/update_op.h"

namespace partita {
namespace {

struct MomentumAttrs {
  double momentum = 0.9, dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;
  static constexpr auto fields() {
    using A = MomentumAttrs;
    return std::tuple{field("momentum", &A::momentum), field("dampening", &A::dampening),
                      field("nesterov", &A::nesterov), field("weight_decay", &A::weight_decay)};
  }
};

/// The step uses the velocity, or gradient + keep * velocity with Nesterov.
template <class T>
struct MomentumStep : UpdateStep<MomentumAttrs, Scalars::rate, 3, 0, 2> {
  T rate, decay, keep, take, of_gradient, of_velocity;

  template <class Scalar, class Cast>
  MomentumStep(const MomentumAttrs& attrs, const Scalar& learning_rate, const Scalar&, const Cast& cast)
      : rate(cast(learning_rate)),
        decay(static_cast<T>(attrs.weight_decay)),
        keep(static_cast<T>(attrs.momentum)),
        take(static_cast<T>(1 - attrs.dampening)),
        of_gradient(attrs.nesterov ? T{1} : T{0}),
        of_velocity(attrs.nesterov ? keep : T{1}) {}

  void apply(std::array<T, kTensors>& x) const {
    auto& [w, gradient, v] = x;
    gradient += decay * w;
    v = keep * v + take * gradient;
    w = w - rate * (of_gradient * gradient + of_velocity * v);
  }
};

}  // namespace

std::vector<OptimizerDef> momentum_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "momentum";
  optimizer.summary = "v = momentum v + (1 - dampening) g; w -= rate v, or, with Nesterov, rate (g + momentum v)";
  optimizer.states = {{"momentum", "the velocity v"}};
  optimizer.options = {momentum_option(0.9),
                       {.name = "dampening", .help = "Share of the gradient that the momentum does not take"},
                       nesterov_option(false)};
  optimizer.build = [](const UpdateCall& call) {
    const Value velocity = call.state("momentum");
    const MomentumAttrs attrs{.momentum = call.number("momentum"),
                              .dampening = call.number("dampening"),
                              .nesterov = call.is_on("nesterov"),
                              .weight_decay = call.decay};
    call.store_results("momentum", {call.parameter, call.gradient, velocity, call.rate}, attrs,
                       {call.parameter, velocity});
  };
  optimizer.ops = {update_op<MomentumStep>("momentum",
                                           "(w, g, v, rate): g += weight_decay w; v = momentum v + (1 - dampening) g; "
                                           "w -= rate (nesterov ? g + momentum v : v)",
                                           6, {}, {{0.9, 0, false, 0}, {0.8, 0.1, true, 0.01}})};
  optimizer.python = {.name = "Momentum",
                      .parameters = {{"learning_rate"},
                                     {"momentum"},
                                     {"weight_decay", "0.0"},
                                     {"loss_scale", "1.0"},
                                     {"use_nesterov", "False", "nesterov"}},
                      .is_named_by_kind = true,
                      .documented = {{"momentum", "moments"}}};
  return {optimizer};
}

}  // namespace partita
