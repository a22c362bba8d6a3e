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
  require_slot_range(op, call, attrs.begin, local, slot_total(attrs, local));
}

/// Returns the number of slots of the whole, for combine and combine_grad_weights.
int64_t combine_slots(const OpCall& call) {
  const Shape& rows = call.inputs[0].shape;
  return slot_total(call.attrs.as<CombineAttrs>(), rows[rows.size() - 2]);
}

Attrs localize_combine(const Attrs& all, const Shard& shard) {
  const auto& attrs = all.as<CombineAttrs>();
  const Range& range = shard.inputs[0][shard.inputs[0].size() - 2];
  if (range.whole()) return all;
  return Attrs(CombineAttrs{.begin = attrs.begin + range.begin, .total = slot_total(attrs, range.size)});
}

template <class T, class Slot>
void run_combine(const CombineAttrs& attrs, const RoutingSizes& sizes, const T* y, const Slot* slots, const T* weights,
                 T* x) {
  const int64_t total = slot_total(attrs, sizes.slots);
  std::vector<double> sums(sizes.width);
  for (int64_t group = 0; group < sizes.groups; ++group, y += sizes.slots * sizes.width) {
    for (int64_t n = 0; n < sizes.tokens; ++n, x += sizes.width) {
      std::fill(sums.begin(), sums.end(), 0);
      for (int64_t k = 0; k < sizes.choices; ++k, ++slots) {
        const double weight = weights ? static_cast<double>(*weights++) : 1;
        const int64_t row = row_of_slot("combine", *slots, attrs.begin, sizes.slots, total);
        if (row < 0) continue;
        for (int64_t z = 0; z < sizes.width; ++z) {
          sums[z] += weight * static_cast<double>(y[row * sizes.width + z]);
        }
      }
      for (int64_t z = 0; z < sizes.width; ++z) x[z] = T(static_cast<Wide<T>>(sums[z]));
    }
  }
}

/// The rows y[slots[.., n, k]] as [groups n, k, z] in f32 or f64, zeros for slots of no row or of another rank, and
/// where there is a row, as bools [groups n, k].
struct EmittedRows {
  Hlo y, is_row;
};
EmittedRows emitted_combine_rows(const EmitCall& call, const RoutingSizes& sizes) {
  const Hlo &y = call.inputs[0], &slots = call.inputs[1];
  const Hlo rows = emitted_rows_of_slots(call, slots, sizes, call.attrs.as<CombineAttrs>().begin);
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
  OpDef op;
  op.name = "combine";
  op.traits.halves = {.results = 1, .follow = true};
  op.summary = "the sum over k of the rows y[.., slots[.., n, k]], times weights[.., n, k] if there are any";
  op.attrs = Attrs(CombineAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    if (call.inputs.size() != 3) require_operands("combine", call, 2);
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
  op.localize = localize_combine;
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const auto& attrs = call.attrs.as<CombineAttrs>();
    const Shape& rows = call.inputs[0].shape();
    const int64_t local = rows[rows.size() - 2];
    const DispatchAttrs back{.size = local, .begin = attrs.begin, .total = slot_total(attrs, local)};
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
  op.traits.ids = slot_operand("combine", combine_slots);
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const RoutingSizes sizes = routing_sizes(in[1].type, in[0].type);
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* weights = in.size() == 3 ? in[2].as<T>() : nullptr;
      for_integer(in[1].type.dtype, [&](auto slot) {
        run_combine(attrs.as<CombineAttrs>(), sizes, in[0].as<T>(), in[1].as<decltype(slot)>(), weights,
                    out[0].as<T>());
      });
    });
  };
  // Slot 8, or 6, means none.
  op.samples = {
      {{sample_of({8, 6}), ids_of({4, 2}, 9), sample_of({4, 2})}, Attrs(CombineAttrs{})},
      {{sample_of({2, 6, 4}), ids_of({2, 5, 2}, 7)}, Attrs(CombineAttrs{})},
      {{sample_of({2, 2, 4, 3}), ids_of({2, 2, 6, 1}, 9), sample_of({2, 2, 6, 1})}, Attrs(CombineAttrs{2, 8})}};
  return op;
}

template <class T, class Slot>
void run_combine_grad_weights(const CombineAttrs& attrs, const RoutingSizes& sizes, const T* y, const Slot* slots,
                              const T* d, T* d_weights) {
  const int64_t total = slot_total(attrs, sizes.slots);
  for (int64_t group = 0; group < sizes.groups; ++group, y += sizes.slots * sizes.width) {
    for (int64_t n = 0; n < sizes.tokens; ++n, d += sizes.width) {
      for (int64_t k = 0; k < sizes.choices; ++k, ++slots, ++d_weights) {
        const int64_t row = row_of_slot("combine_grad_weights", *slots, attrs.begin, sizes.slots, total);
        double sum = 0;
        for (int64_t z = 0; row >= 0 && z < sizes.width; ++z) {
          sum += static_cast<double>(y[row * sizes.width + z]) * static_cast<double>(d[z]);
        }
        *d_weights = T(static_cast<Wide<T>>(sum));
      }
    }
  }
}

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
  OpDef op;
  op.name = "combine_grad_weights";
  op.summary = "the product of the rows d[.., n] and y[.., slots[.., n, k]]: [.., n, k]";
  op.attrs = Attrs(CombineAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("combine_grad_weights", call, 3);
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
  op.localize = localize_combine;
  op.flops_per_point = 2;
  op.emit = emit_combine_grad_weights;
  op.traits.ids = slot_operand("combine_grad_weights", combine_slots);
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const RoutingSizes sizes = routing_sizes(in[1].type, in[0].type);
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      for_integer(in[1].type.dtype, [&](auto slot) {
        run_combine_grad_weights(attrs.as<CombineAttrs>(), sizes, in[0].as<T>(), in[1].as<decltype(slot)>(),
                                 in[2].as<T>(), out[0].as<T>());
      });
    });
  };
  op.samples = {{{sample_of({8, 6}), ids_of({4, 2}, 9), sample_of({4, 6})}, Attrs(CombineAttrs{})},
                {{sample_of({2, 4, 3}), ids_of({2, 6, 2}, 9), sample_of({2, 6, 3})}, Attrs(CombineAttrs{2, 8})}};
  return op;
}

}  // namespace

std::vector<OpDef> combine_ops() { return {combine_op(), combine_grad_weights_op()}; }

}  // namespace partita
