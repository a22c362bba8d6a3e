#include "ir/ops/emission.h"
#include "ir/ops/routing/routing.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

/// Checks the operands 0 and 1 of combine and combine_grad_weights, which are the same. Throws InvalidArgument
/// otherwise.
void require_combine_rows(std::string_view op, const OpCall& call) {
  require_routing(op, call, 0, 1, /*same_tokens=*/false);
  const Shape& rows = call.inputs[0].shape;
  const int64_t local = rows[rows.size() - 2];
  const auto& attrs = call.attrs.as<CombineAttrs>();
  require_slot_range(op, call, attrs.begin, local, attrs.whole(local));
}

/// Returns the number of slots of the whole, for combine and combine_grad_weights.
int64_t combine_slots(const OpCall& call) {
  const Shape& rows = call.inputs[0].shape;
  return call.attrs.as<CombineAttrs>().whole(rows[rows.size() - 2]);
}

void localize_combine(CombineAttrs& attrs, const Shard& shard) {
  localize_part(attrs, shard.inputs[0][shard.inputs[0].size() - 2]);
}

/// Calls fn(token, choice, row) for each choice of each token of all groups: its row among those of y in `in[0]`, or
/// -1. Throws InvalidArgument for a slot that is out of range.
template <class Fn>
void for_choices(std::string_view op, const CombineAttrs& attrs, Inputs in, const RoutingSizes& sizes, Fn&& fn) {
  const std::vector<int64_t> slots = read_ids(in[1]);
  for (int64_t token = 0, at = 0; token < sizes.groups * sizes.tokens; ++token) {
    for (int64_t k = 0; k < sizes.choices; ++k, ++at) {
      const int64_t row = row_of_slot(op, slots[at], attrs.begin, sizes.slots, attrs.whole(sizes.slots));
      fn(token, at, row < 0 ? row : token / sizes.tokens * sizes.slots + row);
    }
  }
}

constexpr auto run_combine = []<class T>(const CombineAttrs& attrs, Inputs in, Outputs out) {
  const RoutingSizes sizes = routing_sizes(in[1].type, in[0].type);
  const T *y = in[0].as<T>(), *weights = in.size() == 3 ? in[2].as<T>() : nullptr;
  std::vector<double> sums(out[0].type.elements());
  for_choices("combine", attrs, in, sizes, [&](int64_t token, int64_t choice, int64_t row) {
    const double weight = weights ? static_cast<double>(weights[choice]) : 1;
    for (int64_t z = 0; row >= 0 && z < sizes.width; ++z) {
      sums[token * sizes.width + z] += weight * static_cast<double>(y[row * sizes.width + z]);
    }
  });
  std::ranges::copy(sums, out[0].as<T>());
};

/// The rows y[slots[.., n, k]] as [groups n, k, z] in f32 or f64, zeros for slots of no row or of another rank, and
/// where there is a row, as bools [groups n, k].
struct EmittedRows {
  Hlo y, is_row;
};
EmittedRows emitted_combine_rows(const EmitCall& call, const RoutingSizes& sizes) {
  const Hlo &y = call.inputs[0], &slots = call.inputs[1];
  const Hlo rows = hlo_rows_of_groups(call, slots, sizes.groups, call.attrs.as<CombineAttrs>().begin, sizes.slots);
  const Hlo table = call.reshape(y, {sizes.groups * sizes.slots, sizes.width});
  const Hlo found = call.convert(hlo_rows(call, table, rows), wide_type(y.type.dtype));
  const Hlo is_row = call.compare("GE", rows, call.splat_integer(0, rows.type));
  const int64_t tokens = sizes.groups * sizes.tokens;
  return {call.reshape(found, {tokens, sizes.choices, sizes.width}), call.reshape(is_row, {tokens, sizes.choices})};
}

std::vector<Hlo> emit_combine(const EmitCall& call) {
  const Type& result = call.outputs[0];
  const RoutingSizes sizes = routing_sizes(call.inputs[1].type, call.inputs[0].type);
  if (result.elements() == 0 || sizes.choices == 0) return {call.splat(0, result)};
  auto [rows, is_row] = emitted_combine_rows(call, sizes);
  if (call.inputs.size() == 3) {
    const Hlo given = call.reshape(call.convert(call.inputs[2], rows.type.dtype), is_row.type.shape);
    const Hlo weights = call.select(is_row, given, call.splat(0, given.type));
    rows = call.body.add_same("stablehlo.multiply", {rows, call.broadcast_in(weights, {0, 1}, rows.type.shape)});
  }
  const Hlo sums = call.reduce(rows, "add", call.splat(0, {rows.type.dtype, {}}), {1});
  return {call.convert(call.reshape(sums, result.shape), result.dtype)};
}

OpDef combine_op() {
  OpDef op =
      new_op("combine", "the sum over k of the rows y[.., slots[.., n, k]], times weights[.., n, k] if there are any",
             {.count = 2, .optional = 1, .floats = {0}, .integers = {1, "slots"}}, CombineAttrs{}, kFollowsHalves);
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_combine_rows("combine", call);
    if (call.inputs.size() == 3) require_slot_weights("combine", call, 2, 1, call.inputs[0].dtype);
    Type result{call.inputs[0].dtype, call.inputs[1].shape};
    result.shape.back() = call.inputs[0].shape.back();
    return {result};
  };
  op.rule = [](const OpCall& call) {
    const bool weighted = call.inputs.size() == 3;
    ShardingRule rule = einsum(weighted ? "..vz,..nk,..nk->..nz | v:lookup" : "..vz,..nk->..nz | v:lookup", call);
    rule.linear_in({0});
    return weighted ? rule.linear_in({2}) : rule;
  };
  op.localize = localized<CombineAttrs>(localize_combine);
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const auto& attrs = call.attrs.as<CombineAttrs>();
    const Shape& rows = call.inputs[0].shape();
    const int64_t local = rows[rows.size() - 2];
    const DispatchAttrs back{.size = local, .begin = attrs.begin, .total = attrs.whole(local)};
    std::vector<Value> operands = call.inputs;
    operands[0] = call.d_outputs[0];
    std::vector<Value> gradients{call.apply("dispatch", operands, back), Value()};
    if (call.inputs.size() == 3) {
      gradients.push_back(
          call.apply("combine_grad_weights", {call.inputs[0], call.inputs[1], call.d_outputs[0]}, call.attrs));
    }
    return gradients;
  };
  op.flops_per_point = 2;
  op.emit = emit_combine;
  op.traits.take_place = takes_begin<CombineAttrs>();
  op.traits.ids = slot_operand("combine", combine_slots);
  op.kernel = float_kernel<float, CombineAttrs>(run_combine);
  // Slot 8, or 6, means none.
  op.samples = {{{sample_of({8, 6}), ids_of({4, 2}, 9), sample_of({4, 2})}, CombineAttrs{}},
                {{sample_of({2, 6, 4}), ids_of({2, 5, 2}, 7)}, CombineAttrs{}},
                {{sample_of({2, 2, 4, 3}), ids_of({2, 2, 6, 1}, 9), sample_of({2, 2, 6, 1})}, CombineAttrs{2, 8}}};
  return op;
}

constexpr auto run_combine_grad_weights = []<class T>(const CombineAttrs& attrs, Inputs in, Outputs out) {
  const RoutingSizes sizes = routing_sizes(in[1].type, in[0].type);
  const T *y = in[0].as<T>(), *d = in[2].as<T>();
  for_choices("combine_grad_weights", attrs, in, sizes, [&](int64_t token, int64_t choice, int64_t row) {
    double sum = 0;
    for (int64_t z = 0; row >= 0 && z < sizes.width; ++z) {
      sum += static_cast<double>(y[row * sizes.width + z]) * static_cast<double>(d[token * sizes.width + z]);
    }
    out[0].as<T>()[choice] = static_cast<T>(sum);
  });
};

std::vector<Hlo> emit_combine_grad_weights(const EmitCall& call) {
  const Type& result = call.outputs[0];
  const RoutingSizes sizes = routing_sizes(call.inputs[1].type, call.inputs[0].type);
  if (result.elements() == 0) return {call.splat(0, result)};
  const auto [rows, is_row] = emitted_combine_rows(call, sizes);
  const Hlo d = call.reshape(call.convert(call.inputs[2], rows.type.dtype), {rows.type.shape[0], sizes.width});
  const Hlo parts = call.body.add_same("stablehlo.multiply", {rows, call.broadcast_in(d, {0, 2}, rows.type.shape)});
  const Hlo sums = call.reduce(parts, "add", call.splat(0, {rows.type.dtype, {}}), {2});
  const Hlo own = call.select(is_row, sums, call.splat(0, sums.type));
  return {call.convert(call.reshape(own, result.shape), result.dtype)};
}

OpDef combine_grad_weights_op() {
  OpDef op = new_op("combine_grad_weights", "the product of the rows d[.., n] and y[.., slots[.., n, k]]: [.., n, k]",
                    {.count = 3, .floats = {0}, .integers = {1, "slots"}}, CombineAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_combine_rows("combine_grad_weights", call);
    require_routing("combine_grad_weights", call, 2, 1, /*same_tokens=*/true);
    const Type &y = call.inputs[0], &d = call.inputs[2];
    if (y.dtype != d.dtype || y.shape.back() != d.shape.back()) {
      reject("combine_grad_weights", "operands do not fit", print(call.inputs), "rows of one type and width");
    }
    return {Type{y.dtype, call.inputs[1].shape}};
  };
  op.rule = [](const OpCall& call) {
    return einsum("..vz,..nk,..nz->..nk | v:lookup", call).linear_in({0}).linear_in({2});
  };
  op.localize = localized<CombineAttrs>(localize_combine);
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const auto& attrs = call.attrs.as<CombineAttrs>();
    const Value y = call.inputs[0], slots = call.inputs[1], d = call.inputs[2], weights = call.d_outputs[0];
    const Shape rows = y.shape();
    const int64_t local = rows[rows.size() - 2];
    const DispatchAttrs back{.size = local, .begin = attrs.begin, .total = attrs.whole(local)};
    return {call.apply("dispatch", {d, slots, weights}, back), Value(),
            call.apply("combine", {y, slots, weights}, Attrs(attrs))};
  };
  op.flops_per_point = 2;
  op.emit = emit_combine_grad_weights;
  op.traits.take_place = takes_begin<CombineAttrs>();
  op.traits.ids = slot_operand("combine_grad_weights", combine_slots);
  op.kernel = float_kernel<float, CombineAttrs>(run_combine_grad_weights);
  op.samples = {{{sample_of({8, 6}), ids_of({4, 2}, 9), sample_of({4, 6})}, CombineAttrs{}},
                {{sample_of({2, 4, 3}), ids_of({2, 6, 2}, 9), sample_of({2, 6, 3})}, CombineAttrs{2, 8}}};
  return op;
}

}  // namespace

std::vector<OpDef> combine_ops() { return {combine_op(), combine_grad_weights_op()}; }

}  // namespace partita
