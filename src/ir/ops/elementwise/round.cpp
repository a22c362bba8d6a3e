#include "base/rounding.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/pointwise.h"

namespace partita {
namespace {

Pointwise round_loops(const RoundAttrs& attrs) {
  if (attrs.dtype == DType::f16) return loops_of([](auto x) { return round_to<kF16>(without_noise(x)); });
  return loops_of([](auto x) { return round_to<kBf16>(without_noise(x)); });
}

}  // namespace

std::vector<OpDef> round_ops() {
  OpDef op =
      pointwise_op<RoundAttrs>("round", "x rounded to the digits of a 16-bit float, in the type of x", round_loops);
  op.traits.is_conversion = true;
  const auto infer = op.infer;
  op.infer = [infer](const OpCall& call) {
    const DType dtype = call.attrs.as<RoundAttrs>().dtype;
    if (dtype != DType::bf16 && dtype != DType::f16) {
      reject("round", "not a 16-bit float", std::string(name_of(dtype)), "bf16 or f16");
    }
    return infer(call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kMaxMin); };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}, Attrs(RoundAttrs{DType::f16})}};
  return {op};
}

}  // namespace partita
