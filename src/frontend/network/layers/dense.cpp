#include "frontend/network/layers/dense.h"

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
  const Value y = builder.apply("matmul", {x, weight}, MatmulAttrs{.transpose_b = true});
  if (!options_.bias) return y;
  const Value bias = context.parameter("bias", {units_}, options_.bias_init.of({units_}));
  return builder.apply("bias_add", {y, bias}, BiasAddAttrs{.axis = int64_t{last}});
}

}  // namespace partita
