#include "ir/ops/emission.h"
#include "ir/ops/kernels.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

std::vector<Type> infer_cumsum(const OpCall& call) {
  const Type& x = call.inputs[0];
  const int64_t axis = call.attrs.as<CumsumAttrs>().axis;
  if (x.dtype == DType::boolean) reject("cumsum", "operand is a bool", print(x), "numbers", ErrorKind::type);
  require_axis("cumsum", call, axis);
  return {x};
}

/// Writes the running sums of x along the axis to y. Floats are summed in f64; integers wrap around.
constexpr auto run_cumsum = []<class T>(const CumsumAttrs& attrs, Inputs in, Outputs out) {
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  const Shape& shape = in[0].type.shape;
  const int64_t size = shape[attrs.axis], stride = strides_of(shape)[attrs.axis], total = elements(shape);
  if (total == 0) return;
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  std::vector<Sum> sums(stride);
  for (int64_t outer = 0; outer < total; outer += size * stride) {
    std::ranges::fill(sums, Sum{});
    for (int64_t step = 0; step < size; ++step) {
      const int64_t at = outer + (attrs.reverse ? size - 1 - step : step) * stride;
      for (int64_t i = 0; i < stride; ++i) {
        const Sum before = sums[i];
        sums[i] += static_cast<Sum>(x[at + i]);
        y[at + i] = static_cast<T>(attrs.exclusive ? before : sums[i]);
      }
    }
  }
};

/// Sums of 16-bit floats are added in f32. Integers wrap around.
std::vector<Hlo> emit_cumsum(const EmitCall& call) {
  const auto& attrs = call.attrs.as<CumsumAttrs>();
  const Type& type = call.outputs[0];
  if (type.elements() == 0) return {call.splat(0, type)};
  const auto turned = [&](const Hlo& x) {
    if (!attrs.reverse) return x;
    return call.body.add(fmt::format("stablehlo.reverse {}, dims = [{}] : {}", x.name, attrs.axis, hlo_type(x.type)),
                         x.type);
  };
  const Hlo x = is_float(type.dtype) ? call.convert(call.inputs[0], wide_type(type.dtype)) : call.inputs[0];
  Hlo sums = hlo_running_sums(call, turned(x), attrs.axis);
  if (attrs.exclusive) {
    std::vector<HloEdge> edges(type.shape.size());
    edges[attrs.axis] = {.before = 1, .after = -1};
    sums = hlo_pad(call, sums, call.splat(0, {sums.type.dtype, {}}), edges);
  }
  return {call.convert(turned(sums), type.dtype)};
}

}  // namespace

std::vector<OpDef> cumsum_ops() {
  OpDef op = new_op("cumsum", "sums of the elements up to each one along an axis", {.count = 1}, CumsumAttrs{});
  op.infer = infer_cumsum;
  op.rule = [](const OpCall& call) { return whole_along(call, call.attrs.as<CumsumAttrs>().axis).linear_in({0}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    CumsumAttrs back = call.attrs.as<CumsumAttrs>();
    back.reverse = !back.reverse;
    return {call.apply("cumsum", {call.d_outputs[0]}, Attrs(back))};
  };
  op.emit = emit_cumsum;
  op.kernel = number_kernel<CumsumAttrs>(run_cumsum);
  op.samples = {{{sample_of({4, 6})}, CumsumAttrs{1}},
                {{sample_of({4, 3, 5})}, CumsumAttrs{1, true, false}},
                {{sample_of({5, 4})}, CumsumAttrs{0, false, true}},
                {{sample_of({6})}, CumsumAttrs{0, true, true}}};
  return {op};
}

}  // namespace partita
