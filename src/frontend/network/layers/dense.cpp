#include "frontend/network/layers/dense.h"

#include <cmath>

#include "frontend/network/adapters.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/matmul/matmul.h"

namespace partita {

Value Dense::construct(Context& context, Value x) {
  if (x.type().rank() < 2) {
    throw InvalidArgument("[dense] too few dimensions, got {}, expected [.., inputs]", print(x.type()));
  }
  Builder& builder = context.builder();
  const int last = x.type().rank() - 1;
  const Shape shape{units_, x.shape()[last]};
  const Value weight = context.parameter("weight", shape, options_.init.of(shape));
  const MatmulAttrs transposed{.transpose_b = true};
  Value y = builder.apply("matmul", {x, weight}, transposed);
  if (options_.bias) {
    const Initializer init = options_.bias_init.of({units_});
    const Value bias = options_.trains_bias ? context.parameter("bias", {units_}, init)
                                            : context.fixed_parameter("bias", {units_}, init);
    y = builder.apply("bias_add", {y, bias}, BiasAddAttrs{.axis = int64_t{last}});
  }
  const AdapterOptions* addition = context.addition();
  if (addition == nullptr) return y;
  const double bound = 1 / std::sqrt(static_cast<double>(shape[1])), rank = static_cast<double>(addition->rank);
  const Value in =
      context.parameter(std::string(kAdapterIn), {addition->rank, shape[1]}, uniform_initializer(-bound, bound));
  const Value out = context.parameter(std::string(kAdapterOut), {units_, addition->rank}, constant_initializer(0));
  const Value low = builder.apply("matmul", {x, in}, transposed);
  const Value added = builder.apply("matmul", {low, out}, transposed);
  return builder.apply("add", {y, builder.apply("scale", {added}, ScaleAttrs{.scale = addition->alpha / rank})});
}

}  // namespace partita
