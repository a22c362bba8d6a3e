#include "ir/ops/emission.h"
#include "ir/ops/routing/routing.h"
#include "ir/ops/sizes.h"
#include "ir/ops/wide.h"

namespace partita {

namespace {

std::vector<Type> infer_dispatch(const OpCall& call) {
  require_routing("dispatch", call, 0, 1, /*same_tokens=*/true);
  const Type& x = call.inputs[0];
  if (call.inputs.size() == 3) require_slot_weights("dispatch", call, 2, 1, x.dtype);
  const auto& attrs = call.attrs.as<DispatchAttrs>();
  require_slot_range("dispatch", call, attrs.begin, attrs.size, attrs.whole());
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
  const CombineAttrs back{.begin = attrs.begin, .total = attrs.whole()};
  std::vector<Value> operands = call.inputs;
  operands[0] = call.d_outputs[0];
  std::vector<Value> gradients{call.apply("combine", operands, back), Value()};
  if (call.inputs.size() == 3) {
    gradients.push_back(call.apply("combine_grad_weights", {call.d_outputs[0], call.inputs[1], call.inputs[0]}, back));
  }
  return gradients;
}

constexpr auto run_dispatch = []<class T>(const DispatchAttrs& attrs, Inputs in, Outputs out) {
  const RoutingSizes sizes = routing_sizes(in[1].type, out[0].type);
  const std::vector<int64_t> slots = read_ids(in[1]);
  const T *x = in[0].as<T>(), *weights = in.size() == 3 ? in[2].as<T>() : nullptr;
  T* y = out[0].as<T>();
  std::vector<double> sums(sizes.slots * sizes.width);
  size_t at = 0;
  for (int64_t group = 0; group < sizes.groups; ++group, x += sizes.tokens * sizes.width) {
    std::ranges::fill(sums, 0);
    for (int64_t n = 0; n < sizes.tokens; ++n) {
      for (int64_t k = 0; k < sizes.choices; ++k, ++at) {
        const double weight = weights ? static_cast<double>(weights[at]) : 1;
        const int64_t row = row_of_slot("dispatch", slots[at], attrs.begin, attrs.size, attrs.whole());
        if (row < 0) continue;
        for (int64_t z = 0; z < sizes.width; ++z) {
          sums[row * sizes.width + z] += weight * static_cast<double>(x[n * sizes.width + z]);
        }
      }
    }
    y = std::ranges::copy(sums, y).out;
  }
};

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
  const Hlo rows =
      hlo_rows_of_groups(call, call.inputs[1], sizes.groups, call.attrs.as<DispatchAttrs>().begin, sizes.slots);
  const Hlo sums =
      hlo_add_rows(call, sizes.groups * sizes.slots, rows, call.reshape(updates, {shape[0] * shape[1], shape[2]}));
  return {call.convert(call.reshape(sums, result.shape), result.dtype)};
}

}  // namespace

std::vector<OpDef> dispatch_ops() {
  OpDef op = new_op(
      "dispatch",
      "row v of a group is the sum of its rows x[.., n] with slots[.., n, k] = v, times weights[.., n, k] if any",
      {.count = 2, .optional = 1, .floats = {0}, .integers = {1, "slots"}}, DispatchAttrs{}, kFollowsHalves);
  op.infer = infer_dispatch;
  op.rule = rule_dispatch;
  op.localize = localized<DispatchAttrs>([](DispatchAttrs& attrs, const Shard& shard) {
    localize_part(attrs, shard.outputs[0][shard.outputs[0].size() - 2]);
  });
  op.grad = grad_dispatch;
  op.emit = emit_dispatch;
  op.traits.take_place = takes_begin(&DispatchAttrs::size);
  op.traits.ids = slot_operand("dispatch", [](const OpCall& call) { return call.attrs.as<DispatchAttrs>().whole(); });
  op.kernel = float_kernel<float, DispatchAttrs>(run_dispatch);
  // Slot 8, or 6, means none.
  op.samples = {{{sample_of({4, 6}), ids_of({4, 2}, 9)}, DispatchAttrs{.size = 8}},
                {{sample_of({2, 5, 4}), ids_of({2, 5, 2}, 7), sample_of({2, 5, 2})}, DispatchAttrs{.size = 6}},
                {{sample_of({2, 2, 6, 3}), ids_of({2, 2, 6, 1}, 9)}, DispatchAttrs{4, 2, 8}}};
  return {op};
}

}  // namespace partita
