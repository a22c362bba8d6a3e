#pragma once
// What dispatch, combine and their gradient share: tokens n of a group go to k slots v each, with rows of width z.

#include "ir/ops/routing/attrs.h"
#include "ir/ops/support.h"

namespace partita {

/// Sizes of one call; the operands are [groups.., n, z], [groups.., v, z] and slots [groups.., n, k].
struct RoutingSizes {
  int64_t groups = 1, tokens = 0, choices = 0, slots = 0, width = 0;
};

/// Of slots [.., n, k] and rows [.., v, z].
RoutingSizes routing_sizes(const Type& slots, const Type& rows_of_slots);

/// Throws unless the operand `slots` holds integers [.., n, k], and `rows` floats [.., n, z] with the same dimensions
/// in front of the last (`same_tokens`), or [.., v, z] with the same in front of the last two.
void require_routing(std::string_view op, const OpCall& call, size_t rows, size_t slots, bool same_tokens);

/// Throws unless the operand is of the float type `dtype` in the shape of the slots.
void require_slot_weights(std::string_view op, const OpCall& call, size_t weights, size_t slots, DType dtype);

/// Throws unless slots [begin, begin + size) lie in [0, total).
void require_slot_range(std::string_view op, const OpCall& call, int64_t begin, int64_t size, int64_t total);

/// The local row of a slot; -1 when it is held elsewhere, or is `total`, that of a token without a slot. Throws for a
/// slot outside of [0, total].
inline int64_t row_of_slot(std::string_view op, int64_t slot, int64_t begin, int64_t size, int64_t total) {
  if (slot < 0 || slot > total) {
    reject(op, "slot is outside its range", fmt::format("{}", slot),
           fmt::format("0 to {}, or {} for none", total - 1, total), ErrorKind::index);
  }
  const int64_t row = slot - begin;
  return slot < total && row >= 0 && row < size ? row : -1;
}

/// Slots of the whole.
inline int64_t slot_total(const DispatchAttrs& attrs) { return attrs.total != 0 ? attrs.total : attrs.size; }
inline int64_t slot_total(const CombineAttrs& attrs, int64_t local) { return attrs.total != 0 ? attrs.total : local; }

}  // namespace partita
