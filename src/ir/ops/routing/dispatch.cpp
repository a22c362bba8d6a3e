#include "ir/ops/emission.h"
#include "ir/ops/routing/routing.h"
#include "ir/ops/sizes.h"
#include "ir/ops/wide.h"

namespace partita {

namespace {

std::vector<Type> infer_dispatch(const OpCall& call) {
  if (call.inputs.size() != 3) require_operands("dispatch", call, 2);
  require_routing("dispatch", call, 0, 1, /*same_tokens=*/true);
  const Type& x = call.inputs[0];
  if (call.inputs.size() == 3) require_slot_weights("dispatch", call, 2, 1, x.dtype);
  const auto& attrs = call.attrs.as<DispatchAttrs>();
  require_slot_range("dispatch", call, attrs.begin, attrs.size, slot_total(attrs));
  Type result = x;
  result.shape[result.shape.size() - 2] = attrs.size;
  require_shape("dispatch", result.shape);
  return {result};
}

ShardingRule rule_dispatch(const OpCall& call) {
  const bool weighted = call.inputs.size() == 3;
  const std::map<char, int64_t> sizes{{'v', call.attrs.as<DispatchAttrs>().size}};
  ShardingRule rule =
      einsum(weighted ? "..nz,..nk,..nk->..vz | v:no_flops" : "..nz,..nk->..vz | v:no_flops", call, sizes);
  rule.linear_in({0});
  return weighted ? rule.linear_in({2}) : rule;
}

std::vector<Value> grad_dispatch(const GradCall& call) {
  const auto& attrs = call.attrs.as<DispatchAttrs>();
  const CombineAttrs back{.begin = attrs.begin, .total = slot_total(attrs)};
  std::vector<Value> operands = call.inputs;
  operands[0] = call.d_outputs[0];
  std::vector<Value> gradients{call.apply("combine", operands, back), Value()};
  if (call.inputs.size() == 3) {
    gradients.push_back(call.apply("combine_grad_weights", {call.d_outputs[0], call.inputs[1], call.inputs[0]}, back));
  }
  return gradients;
}

template <class T, class Slot>
void run_dispatch(const DispatchAttrs& attrs, const RoutingSizes& sizes, const T* x, const Slot* slots,
                  const T* weights, T* y) {
  std::vector<double> sums(sizes.slots * sizes.width);
  for (int64_t group = 0; group < sizes.groups; ++group, x += sizes.tokens * sizes.width, y += sums.size()) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t n = 0; n < sizes.tokens; ++n) {
      for (int64_t k = 0; k < sizes.choices; ++k, ++slots) {
        const double weight = weights ? static_cast<double>(*weights++) : 1;
        const int64_t row = row_of_slot("dispatch", *slots, attrs.begin, attrs.size, slot_total(attrs));
        if (row < 0) continue;
        for (int64_t z = 0; z < sizes.width; ++z) {
          sums[row * sizes.width + z] += weight * static_cast<double>(x[n * sizes.width + z]);
        }
      }
    }
    for (size_t i = 0; i < sums.size(); ++i) y[i] = T(static_cast<Wide<T>>(sums[i]));
  }
}

/// The rows of tokens, once for each choice, are scattered. A slot that is taken once, as all are that `assign_slots`
/// gave, has the same bits each time.
std::vector<Hlo> emit_dispatch(const EmitCall& call) {
  const Hlo& x = call.inputs[0];
  const Type& result = call.outputs[0];
  const RoutingSizes sizes = routing_sizes(call.inputs[1].type, result);
  if (x.type.elements() == 0 || sizes.choices == 0 || result.elements() == 0) return {call.splat(0, result)};
  const DType wide = wide_type(result.dtype);
  const Shape shape{sizes.groups * sizes.tokens, sizes.choices, sizes.width};
  const Hlo tokens = call.reshape(call.convert(x, wide), {shape[0], shape[2]});
  Hlo updates = call.broadcast_in(tokens, {0, 2}, shape);
  if (call.inputs.size() == 3) {
    const Hlo weights = call.reshape(call.convert(call.inputs[2], wide), {shape[0], shape[1]});
    updates = call.body.add_same("stablehlo.multiply", {updates, call.broadcast_in(weights, {0, 1}, shape)});
  }
  const Hlo rows = emitted_rows_of_slots(call, call.inputs[1], sizes, call.attrs.as<DispatchAttrs>().begin);
  const Hlo sums =
      hlo_add_rows(call, sizes.groups * sizes.slots, rows, call.reshape(updates, {shape[0] * shape[1], shape[2]}));
  return {call.convert(call.reshape(sums, result.shape), result.dtype)};
}

}  // namespace

std::vector<OpDef> dispatch_ops() {
  OpDef op;
  op.name = "dispatch";
  op.traits.halves = {.results = 1, .follow = true};
  op.summary =
      "row v of a group is the sum of its rows x[.., n] with slots[.., n, k] = v, times weights[.., n, k] if any";
  op.attrs = Attrs(DispatchAttrs{});
  op.infer = infer_dispatch;
  op.rule = rule_dispatch;
  op.localize = [](const Attrs& all, const Shard& shard) {
    const auto& attrs = all.as<DispatchAttrs>();
    const Range& range = shard.outputs[0][shard.outputs[0].size() - 2];
    if (range.whole()) return all;
    return Attrs(DispatchAttrs{.size = range.count(), .begin = attrs.begin + range.begin, .total = slot_total(attrs)});
  };
  op.grad = grad_dispatch;
  op.emit = emit_dispatch;
  op.traits.ids =
      slot_operand("dispatch", [](const OpCall& call) { return slot_total(call.attrs.as<DispatchAttrs>()); });
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const RoutingSizes sizes = routing_sizes(in[1].type, out[0].type);
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* weights = in.size() == 3 ? in[2].as<T>() : nullptr;
      for_integer(in[1].type.dtype, [&](auto slot) {
        run_dispatch(attrs.as<DispatchAttrs>(), sizes, in[0].as<T>(), in[1].as<decltype(slot)>(), weights,
                     out[0].as<T>());
      });
    });
  };
  // Slot 8, or 6, means none.
  op.samples = {{{sample_of({4, 6}), ids_of({4, 2}, 9)}, Attrs(DispatchAttrs{.size = 8})},
                {{sample_of({2, 5, 4}), ids_of({2, 5, 2}, 7), sample_of({2, 5, 2})}, Attrs(DispatchAttrs{.size = 6})},
                {{sample_of({2, 2, 6, 3}), ids_of({2, 2, 6, 1}, 9)}, Attrs(DispatchAttrs{4, 2, 8})}};
  return {op};
}

}  // namespace partita
