#include "ir/ops/routing/routing.h"

#include "ir/ops/sizes.h"

namespace partita {

RoutingSizes routing_sizes(const Type& slots, const Type& rows_of_slots) {
  const Shape &route = slots.shape, &rows = rows_of_slots.shape;
  RoutingSizes sizes{
      .tokens = route[route.size() - 2], .choices = route.back(), .slots = rows[rows.size() - 2], .width = rows.back()};
  for (size_t d = 0; d + 2 < route.size(); ++d) sizes.groups *= route[d];
  return sizes;
}

void require_routing(std::string_view op, const OpCall& call, size_t rows, size_t slots, bool same_tokens) {
  require_float(op, call, rows);
  const Type &x = call.inputs[rows], &ids = call.inputs[slots];
  bool fits = x.rank() >= 2 && x.rank() == ids.rank();
  for (int d = 0; fits && d + (same_tokens ? 1 : 2) < x.rank(); ++d) fits = x.shape[d] == ids.shape[d];
  if (fits) return;
  reject(op, "operands do not fit", print(call.inputs),
         same_tokens ? "rows [.., n, z] and slots [.., n, k]" : "rows [.., v, z] and slots [.., n, k]");
}

void require_slot_weights(std::string_view op, const OpCall& call, size_t weights, size_t slots, DType dtype) {
  const Type expected{dtype, call.inputs[slots].shape};
  if (call.inputs[weights] != expected) {
    reject(op, "weights do not fit the slots", print(call.inputs[weights]), print(expected));
  }
}

IdOperand slot_operand(std::string_view op, const std::function<int64_t(const OpCall&)>& total) {
  return {.operand = 1,
          .limit = [total](const OpCall& call) { return total(call) + 1; },  // the last number means no slot
          .require = [op = std::string(op), total](const OpCall& call, int64_t slot,
                                                   int64_t) { row_of_slot(op, slot, 0, 0, total(call)); }};
}

void require_slot_range(std::string_view op, const OpCall& call, int64_t begin, int64_t size, int64_t total) {
  if (total >= 0 && lies_in(size, total, begin)) return;
  reject(op, "the slots are outside their range", call.attrs.print(), "0 <= begin and begin + local slots <= total");
}

}  // namespace partita
