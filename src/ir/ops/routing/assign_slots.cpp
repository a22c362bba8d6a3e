#include <limits>

#include "ir/ops/emission.h"
#include "ir/ops/kernels.h"
#include "ir/ops/routing/attrs.h"

namespace partita {
namespace {

std::vector<Type> infer_assign_slots(const OpCall& call) {
  const Type& ids = call.inputs[0];
  if (ids.rank() < 2 || (ids.dtype != DType::i32 && ids.dtype != DType::i64)) {
    reject("assign_slots", "operand does not fit", print(ids), "integer ids[.., n, k]");
  }
  const auto& attrs = call.attrs.as<AssignSlotsAttrs>();
  if (attrs.experts < 1 || attrs.capacity < 1) {
    reject("assign_slots", "no slots", call.attrs.print(), "at least one expert and a capacity of at least 1");
  }
  if (attrs.experts > std::numeric_limits<int32_t>::max() / attrs.capacity) {
    reject("assign_slots", "too many slots", call.attrs.print(), "numbers that an i32 holds");
  }
  return {Type{DType::i32, ids.shape}};
}

constexpr IdRule kExperts{"assign_slots", "id is no expert"};

/// Assigns slots to the ids in order, first choices of all tokens first: the next slot of the expert, or experts *
/// capacity, which means none, if it has no more. `counts` is scratch: the number of ids per expert so far.
void assign(const AssignSlotsAttrs& attrs, int64_t tokens, int64_t choices, const int64_t* ids,
            std::vector<int64_t>& counts, int32_t* slots) {
  std::ranges::fill(counts, 0);
  for (int64_t k = 0; k < choices; ++k) {
    for (int64_t n = 0; n < tokens; ++n) {
      const int64_t expert = ids[n * choices + k];
      const int64_t place = counts[expert]++;
      slots[n * choices + k] = static_cast<int32_t>(place < attrs.capacity ? expert * attrs.capacity + place
                                                                           : attrs.experts * attrs.capacity);
    }
  }
}

/// Counts along [k, n], for each expert, the ids before each one. An id that is no expert, which the kernel refuses,
/// gets no slot.
std::vector<Hlo> emit_assign_slots(const EmitCall& call) {
  const auto& attrs = call.attrs.as<AssignSlotsAttrs>();
  const Type& result = call.outputs[0];
  if (result.elements() == 0) return {call.splat(0, result)};
  const Shape& shape = result.shape;
  const int64_t choices = shape.back(), tokens = shape[shape.size() - 2], groups = result.elements() / choices / tokens;
  const Hlo by_choice = hlo_transpose(call, call.reshape(call.inputs[0], {groups, tokens, choices}), {0, 2, 1});
  const Hlo ids = call.reshape(by_choice, {groups, choices * tokens});
  const Type own{ids.type.dtype, {groups, attrs.experts, choices * tokens}}, count{DType::i32, own.shape};
  const Hlo hit = call.compare("EQ", hlo_iota(call, 1, own), call.broadcast_in(ids, {0, 2}, own.shape));
  const Traced sums(call, hlo_running_sums(call, call.convert(hit, DType::i32), 2));
  // Only its own expert can give an id a slot, all of which are below `none`.
  const Traced expert(call, hlo_iota(call, 1, count)), none = static_cast<double>(attrs.experts * attrs.capacity);
  const Traced slot = expert * static_cast<double>(attrs.capacity) + sums - 1;
  const Traced below = select_of(sums <= static_cast<double>(attrs.capacity), slot, none);
  const Hlo free = call.select(hit, below.as(call, count), none.as(call, count));
  const Hlo slots = call.reduce(free, "minimum", none.as(call, {DType::i32, {}}), {1});
  const Hlo by_token = hlo_transpose(call, call.reshape(slots, {groups, choices, tokens}), {0, 2, 1});
  return {call.reshape(by_token, shape)};
}

}  // namespace

std::vector<OpDef> assign_slots_ops() {
  OpDef op = new_op(
      "assign_slots",
      "slot of the expert ids[.., n, k]: id * capacity plus how many before have this id, those of all n for one k "
      "before the next k; experts * capacity when the expert is full",
      {.count = 1}, AssignSlotsAttrs{});
  op.infer = infer_assign_slots;
  op.rule = [](const OpCall& call) { return einsum("..nk->..nk | n:whole k:whole", call); };
  op.grad = no_gradients;
  op.traits.ids = kExperts.described(0, [](const OpCall& call) { return call.attrs.as<AssignSlotsAttrs>().experts; });
  op.emit = emit_assign_slots;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const auto& attrs = all.as<AssignSlotsAttrs>();
    const Shape& shape = in[0].type.shape;
    const int64_t choices = shape.back(), tokens = shape[shape.size() - 2], group = tokens * choices;
    const std::vector<int64_t> ids = kExperts.read(in[0], attrs.experts);
    std::vector<int64_t> counts(attrs.experts);
    for (int64_t at = 0; at < out[0].type.elements(); at += group) {
      assign(attrs, tokens, choices, ids.data() + at, counts, out[0].as<int32_t>() + at);
    }
  };
  op.samples = {{{ids_of({4, 6, 2}, 3)}, AssignSlotsAttrs{3, 3}},
                {{ids_of({2, 2, 5, 1}, 4)}, AssignSlotsAttrs{4, 2}},
                {{ids_of({6, 3}, 2)}, AssignSlotsAttrs{2, 1}}};
  return {op};
}

}  // namespace partita
