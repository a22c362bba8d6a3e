#include "ir/optimizers/adam.h"

#include "ir/optimizers/shared_options.h"
#include "ir/optimizers/update_op.h"

namespace partita {
namespace {

template <class T>
struct AdamStep : UpdateStep<AdamAttrs, Scalars::rate_and_step, 4, 0, 2, 3> {
  T keep1, take1, keep2, take2, root, epsilon, rate, shrink, decay;

  template <class Scalar, class Cast>
  AdamStep(const AdamAttrs& attrs, const Scalar& given, const Scalar& terms, const Cast& cast)
      : AdamStep(attrs, given, terms, Scalar(1 / sqrt_of(1 - pow_of(Scalar(attrs.beta2), terms))), cast) {}

  void apply(std::array<T, kTensors>& x) const {
    auto& [w, gradient, m, v] = x;
    gradient += decay * w;
    m = keep1 * m + take1 * gradient;
    v = keep2 * v + take2 * gradient * gradient;
    w = shrink * w - rate * m / (sqrt_of(v) * root + epsilon);
  }

  static std::string expected(const AdamAttrs& attrs) {
    const auto is_rate = [](double value) { return value >= 0 && value < 1; };
    if (is_rate(attrs.beta1) && is_rate(attrs.beta2) && attrs.epsilon > 0) return "";
    return "betas from 0 to below 1 and a positive epsilon";
  }

 private:
  template <class Scalar, class Cast>
  AdamStep(const AdamAttrs& attrs, const Scalar& given, const Scalar& terms, const Scalar& correction, const Cast& cast)
      : keep1(attrs.beta1),
        take1(1 - attrs.beta1),
        keep2(attrs.beta2),
        take2(1 - attrs.beta2),
        root(cast(correction)),
        epsilon(attrs.biased_epsilon ? cast(attrs.epsilon * correction) : T(attrs.epsilon)),
        rate(cast(given / (1 - pow_of(Scalar(attrs.beta1), terms)))),
        shrink(attrs.decoupled ? cast(1 - given * attrs.weight_decay) : T(1)),
        decay(attrs.decoupled ? 0 : attrs.weight_decay) {}
};

OpDef adam_op() {
  return update_op<AdamStep>(
      "adam",
      "(w, g, m, v, rate, step): m and v average g and g^2, w -= rate m' / (sqrt(v') + epsilon), m' and v' without "
      "the bias of step + 1 terms; the decay is of w when decoupled, of g otherwise; biased_epsilon adds "
      "epsilon to sqrt(v) before the bias is taken out",
      14, {3},
      {AdamAttrs{},
       {0.8, 0.95, 1e-6, 0.1, true},
       {0.9, 0.99, 1e-6, 0.1, false},
       {.epsilon = 1e-3, .biased_epsilon = true}});
}

OptimizerDef adam_optimizer(const std::string& name, bool decoupled) {
  OptimizerDef optimizer;
  optimizer.name = name;
  optimizer.states = {{"exp_avg", "the mean m of gradients"}, {"exp_avg_sq", "the mean v of squared gradients"}};
  optimizer.options = {beta1_option(0.9),
                       beta2_option(0.999),
                       epsilon_option(1e-8),
                       {.name = "biased_epsilon",
                        .help = "Add epsilon before the bias of the averages is corrected, as MindSpore does",
                        .is_switch = true}};
  optimizer.counts_steps = true;
  optimizer.build = [decoupled](const UpdateCall& call) {
    build_adam(call,
               {.beta1 = call.number("beta1"),
                .beta2 = call.number("beta2"),
                .epsilon = call.number("epsilon"),
                .weight_decay = call.decay,
                .decoupled = decoupled,
                .biased_epsilon = call.is_on("biased_epsilon")},
               call.rate);
  };
  return optimizer;
}

}  // namespace

void build_adam(const UpdateCall& call, const AdamAttrs& attrs, Value rate) {
  const Value first = call.state("exp_avg"), second = call.state("exp_avg_sq");
  call.store_results("adam", {call.parameter, call.gradient, first, second, rate, call.steps()}, attrs,
                     {call.parameter, first, second});
}

std::vector<OptimizerDef> adam_optimizers() {
  OptimizerDef adam = adam_optimizer("adam", false), adamw = adam_optimizer("adamw", true);
  adam.summary = "w -= rate m / (sqrt(v) + epsilon), without the bias of m and v (Kingma and Ba, 2015)";
  adamw.summary = "Adam with decoupled weight decay: w -= rate weight_decay w (Loshchilov and Hutter, 2019)";
  adam.ops = {adam_op()};
  adam.python = {.name = "Adam",
                 .parameters = {{"learning_rate", "0.001"},
                                {"beta1", "0.9"},
                                {"beta2", "0.999"},
                                {"eps", "1e-08", "epsilon"},
                                {.name = "use_locking", .standard = "False", .use = PythonParameter::ignored},
                                {.name = "use_nesterov", .standard = "False", .use = PythonParameter::refused},
                                {"weight_decay", "0.0"},
                                {"loss_scale", "1.0"},
                                {.name = "use_amsgrad", .standard = "False", .use = PythonParameter::refused}},
                 .fixed = {{"biased_epsilon", 1}},
                 .is_named_by_kind = true,
                 .documented = {{"exp_avg", "moment1"}, {"exp_avg_sq", "moment2"}}};
  return {adam, adamw};
}

}  // namespace partita
