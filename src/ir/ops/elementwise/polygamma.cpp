#include "base/special_functions.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {
namespace {

constexpr int64_t kMaxOrder = 100;  // the factorial of 170 is the last that is finite

Pointwise polygamma_formula(const PolygammaAttrs& attrs) {
  const int order = static_cast<int>(attrs.order);
  return formula([=](auto x) { return polygamma_of(order, x); });
}

}  // namespace

std::vector<OpDef> polygamma_ops() {
  OpDef op = pointwise_op<PolygammaAttrs>("polygamma", "derivative of an order from 1 on of the digamma function of x",
                                          polygamma_formula);
  op.infer = [infer = op.infer](const OpCall& call) {
    const int64_t order = call.attrs.as<PolygammaAttrs>().order;
    if (order < 1 || order > kMaxOrder) {
      reject("polygamma", "bad order", fmt::format("{}", order), fmt::format("a number from 1 to {}", kMaxOrder));
    }
    return infer(call);
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const PolygammaAttrs next{call.attrs.as<PolygammaAttrs>().order + 1};
    return {call.apply("mul", {call.d_outputs[0], call.apply("polygamma", {call.inputs[0]}, next)})};
  };
  op.flops_per_point = 200;
  op.samples = {{{sample_of({4, 6}, Fill::positive)}, PolygammaAttrs{1}},
                {{sample_of({5}, Fill::positive)}, PolygammaAttrs{2}},
                {{sample_of({5}, Fill::above_one)}, PolygammaAttrs{5}}};
  return {op};
}

}  // namespace partita
