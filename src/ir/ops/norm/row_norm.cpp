#include "ir/ops/norm/row_norm.h"

#include <numeric>

#include "ir/ops/reduce/attrs.h"

namespace partita {

Type row_statistic(const Type& x) {
  Type type{wide_type(x.dtype), x.shape};
  type.shape.back() = 1;
  return type;
}

void require_row_norm(std::string_view op, const OpCall& call, size_t operands, size_t first, size_t channels) {
  require_operands(op, call, operands);
  require_float(op, call);
  const Type& x = call.inputs[0];
  if (x.rank() == 0) reject(op, "x has no dimension", print(x), "[.., z]");
  const Type channel{x.dtype, {x.shape.back()}};
  for (size_t i = first; i < first + channels; ++i) {
    if (call.inputs[i] != channel)
      reject(op, fmt::format("operand {} does not fit x", i), print(call.inputs), print(channel));
  }
}

void require_epsilon(std::string_view op, double epsilon) {
  if (!(epsilon > 0) || !std::isfinite(epsilon)) {
    reject(op, "epsilon is not a positive number", to_text(epsilon), "above 0");
  }
}

Value sum_last(const ExpandCall& call, Value x) { return reduce_row(call, x, Reduce::sum); }

Value sum_rows(const ExpandCall& call, Value x) {
  std::vector<int64_t> axes(x.type().rank() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (axes.empty()) return x;
  return call.apply("reduce", {x}, ReduceAttrs{.kind = Reduce::sum, .axes = axes});
}

}  // namespace partita
