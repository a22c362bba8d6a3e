#include <cmath>

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/norm/row_norm.h"

namespace partita {
namespace {

constexpr auto kRmsNorm = "rms_norm";

std::vector<Type> infer_rms_norm(const OpCall& call) {
  require_row_norm(kRmsNorm, call, 2, 1, 1);
  require_epsilon(kRmsNorm, call.attrs.as<RowNormAttrs>().epsilon);
  return {call.inputs[0], row_statistic(call.inputs[0])};
}

std::vector<Value> grad_rms_norm(const GradCall& call) {
  if (call.d_outputs[1]) {
    throw InvalidArgument(
        "[rms_norm] no gradient is defined through the statistics, got a use of rstd in the loss, expected a use of "
        "y only");
  }
  return call.apply_all("rms_norm_grad", {call.inputs[0], call.inputs[1], call.outputs[1], call.d_outputs[0]});
}

std::vector<Value> expand_rms_norm(const ExpandCall& call) {
  const Value x = call.inputs[0];
  const DType narrow = x.dtype(), wide = wide_type(narrow);
  const Value squares = sum_last(call, call.apply("square", {to_dtype(call, x, DType::f64)}));
  const Value mean = call.apply(
      "scale", {squares},
      ScaleAttrs{.scale = 1.0 / static_cast<double>(x.shape().back()), .bias = call.attrs.as<RowNormAttrs>().epsilon});
  const Value rstd = to_dtype(call, call.apply("rsqrt", {mean}), wide);
  const Value y =
      call.apply("mul", {call.apply("mul", {to_dtype(call, x, wide), rstd}), to_dtype(call, call.inputs[1], wide)});
  return {to_dtype(call, y, narrow), rstd};
}

template <class T>
void run_rms_norm(double epsilon, Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const T *x = in[0].as<T>(), *gamma = in[1].as<T>();
  T* y = out[0].as<T>();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, y += rows.size) {
    double squares = 0;
    for (int64_t z = 0; z < rows.size; ++z) squares += double(x[z]) * double(x[z]);
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, rows.size)) + epsilon);
    out[1].as<Wide<T>>()[row] = static_cast<Wide<T>>(rstd);
    for (int64_t z = 0; z < rows.size; ++z) y[z] = T(double(x[z]) * rstd * double(gamma[z]));
  }
}

OpDef rms_norm_op() {
  OpDef op;
  op.name = kRmsNorm;
  op.traits.halves = {.results = 1, .follow = true};
  op.summary = "y = x * rstd * gamma, rstd = 1 / sqrt(mean of x^2 + epsilon) over the last dimension; also rstd";
  op.attrs = Attrs(RowNormAttrs{});
  op.infer = infer_rms_norm;
  op.rule = [](const OpCall& call) { return einsum("..z,z->..z,..1 | z:expand", call); };
  op.grad = grad_rms_norm;
  op.expand = expand_rms_norm;
  op.flops_per_point = 5;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    for_float(in[0].type.dtype,
              [&](auto zero) { run_rms_norm<decltype(zero)>(attrs.as<RowNormAttrs>().epsilon, in, out); });
  };
  op.samples = {{{sample_of({4, 6}), sample_of({6})}},
                {{sample_of({2, 3, 5}), sample_of({5})}, Attrs(RowNormAttrs{1e-3})}};
  return op;
}

constexpr auto kRmsNormGrad = "rms_norm_grad";

std::vector<Type> infer_rms_norm_grad(const OpCall& call) {
  require_row_norm(kRmsNormGrad, call, 4, 1, 1);
  const Type &x = call.inputs[0], statistic = row_statistic(x);
  if (call.inputs[2] != statistic || call.inputs[3] != x) {
    reject(kRmsNormGrad, "operands do not fit x", print(call.inputs),
           fmt::format("rstd {}, d_y {}", print(statistic), print(x)));
  }
  return {x, call.inputs[1]};
}

std::vector<Value> expand_rms_norm_grad(const ExpandCall& call) {
  const Value x = call.inputs[0], rstd = call.inputs[2];
  const DType narrow = x.dtype(), wide = wide_type(narrow);
  const Value d_y = to_dtype(call, call.inputs[3], wide);
  const Value normal = call.apply("mul", {to_dtype(call, x, wide), rstd});
  const Value d = call.apply("mul", {d_y, to_dtype(call, call.inputs[1], wide)});
  const Value projection = call.apply("scale", {sum_last(call, call.apply("mul", {d, normal}))},
                                      ScaleAttrs{.scale = 1.0 / static_cast<double>(x.shape().back())});
  const Value d_x = call.apply("mul", {call.apply("sub", {d, call.apply("mul", {normal, projection})}), rstd});
  return {to_dtype(call, d_x, narrow), to_dtype(call, sum_rows(call, call.apply("mul", {d_y, normal})), narrow)};
}

template <class T>
void run_rms_norm_grad(Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const T *x = in[0].as<T>(), *gamma = in[1].as<T>(), *d_y = in[3].as<T>();
  const auto* rstd = in[2].as<Wide<T>>();
  T* d_x = out[0].as<T>();
  std::vector<double> d_gamma(rows.size);
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, d_y += rows.size, d_x += rows.size) {
    double projection = 0;
    const auto normal = [&](int64_t z) { return double(x[z]) * double(rstd[row]); };
    for (int64_t z = 0; z < rows.size; ++z) {
      projection += double(d_y[z]) * double(gamma[z]) * normal(z);
      d_gamma[z] += double(d_y[z]) * normal(z);
    }
    for (int64_t z = 0; z < rows.size; ++z) {
      const double d = double(d_y[z]) * double(gamma[z]);
      d_x[z] = T(double(rstd[row]) * (d - normal(z) * projection / double(rows.size)));
    }
  }
  for (int64_t z = 0; z < rows.size; ++z) out[1].as<T>()[z] = T(d_gamma[z]);
}

OpDef rms_norm_grad_op() {
  OpDef op;
  op.name = kRmsNormGrad;
  op.traits.halves = {.results = 1, .follow = true};
  op.summary = "d_x and d_gamma of rms_norm from x, gamma, rstd and d_y";
  op.infer = infer_rms_norm_grad;
  op.rule = [](const OpCall& call) { return einsum("..z,z,..1,..z->..z,z | z:expand", call).linear_in({3}); };
  op.expand = expand_rms_norm_grad;
  op.flops_per_point = 10;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    for_float(in[0].type.dtype, [&](auto zero) { run_rms_norm_grad<decltype(zero)>(in, out); });
  };
  op.samples = {{{sample_of({4, 6}), sample_of({6}), sample_of({4, 1}, Fill::positive), sample_of({4, 6})}},
                {{sample_of({2, 3, 5}), sample_of({5}), sample_of({2, 3, 1}, Fill::positive), sample_of({2, 3, 5})}}};
  return op;
}

}  // namespace

std::vector<OpDef> rms_norm_ops() { return {rms_norm_op(), rms_norm_grad_op()}; }

}  // namespace partita
