#include "ir/optimizers/optimizer_def.h"
#include "ir/optimizers/update_op.h"

namespace partita {
namespace {

struct SgdAttrs {
  double weight_decay = 0;
  static constexpr auto fields() { return std::tuple{field("weight_decay", &SgdAttrs::weight_decay)}; }
};

template <class T>
struct SgdStep : UpdateStep<SgdAttrs, Scalars::rate, 2, 0> {
  T rate, decay;

  template <class Scalar, class Cast>
  SgdStep(const SgdAttrs& attrs, const Scalar& learning_rate, const Scalar&, const Cast& cast)
      : rate(cast(learning_rate)), decay(static_cast<T>(attrs.weight_decay)) {}

  void apply(std::array<T, kTensors>& x) const {
    auto& [w, gradient] = x;
    w = w - rate * (gradient + decay * w);
  }
};

}  // namespace

std::vector<OptimizerDef> sgd_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "sgd";
  optimizer.summary = "w -= rate (g + weight_decay w)";
  optimizer.build = [](const UpdateCall& call) {
    call.store_results("sgd", {call.parameter, call.gradient, call.rate}, SgdAttrs{call.decay}, {call.parameter});
  };
  optimizer.ops = {update_op<SgdStep>("sgd", "(w, g, rate) -> w - rate * (g + weight_decay * w)", 4, {}, {{0}, {0.1}})};
  return {optimizer};
}

}  // namespace partita
