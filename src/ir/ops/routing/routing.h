#pragma once
// Helpers shared by dispatch, combine and their gradient: each token n of a group goes to k slots v; rows have width z.

#include "ir/ops/kernels.h"
#include "ir/ops/routing/attrs.h"

namespace partita {

/// Sizes of a call with operands [groups.., n, z], [groups.., v, z] and slots [groups.., n, k].
struct RoutingSizes {
  int64_t groups = 1, tokens = 0, choices = 0, slots = 0, width = 0;
};

/// Returns the sizes from slots [.., n, k] and rows [.., v, z].
RoutingSizes routing_sizes(const Type& slots, const Type& rows_of_slots);

/// Checks that the operand `slots` is [.., n, k] and `rows` holds floats: [.., n, z] with the same dimensions
/// before the last (`same_tokens`), or [.., v, z] with the same dimensions before the last two. Throws InvalidArgument
/// otherwise.
void require_routing(std::string_view op, const OpCall& call, size_t rows, size_t slots, bool same_tokens);

/// Checks that the operand `weights` has the float type `dtype` and the shape of the slots. Throws InvalidArgument
/// otherwise.
void require_slot_weights(std::string_view op, const OpCall& call, size_t weights, size_t slots, DType dtype);

/// Checks that slots [begin, begin + size) lie in [0, total). Throws InvalidArgument otherwise.
void require_slot_range(std::string_view op, const OpCall& call, int64_t begin, int64_t size, int64_t total);

/// Returns the local row of a slot, or -1 if another rank holds it or it is `total`, which means no slot. Throws
/// InvalidArgument for a slot outside [0, total].
inline int64_t row_of_slot(std::string_view op, int64_t slot, int64_t begin, int64_t size, int64_t total) {
  if (slot < 0 || slot > total) {
    reject(op, "slot is outside its range", fmt::format("{}", slot),
           fmt::format("0 to {}, or {} for none", total - 1, total), ErrorKind::index);
  }
  const int64_t row = slot - begin;
  return slot < total && row >= 0 && row < size ? row : -1;
}

/// Returns the check of slots, operand 1 of `op`. `total` returns the number of slots of the whole.
IdOperand slot_operand(std::string_view op, const std::function<int64_t(const OpCall&)>& total);

}  // namespace partita
