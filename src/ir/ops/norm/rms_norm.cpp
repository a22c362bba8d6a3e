#include <cmath>

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/norm/row_norm.h"

namespace partita {
namespace {

RowNorm rms_norm_parts() { return {1, {"rstd"}}; }

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

constexpr auto run_rms_norm = []<class T>(const RowNormAttrs& attrs, Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const T *x = in[0].as<T>(), *gamma = in[1].as<T>();
  T* y = out[0].as<T>();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, y += rows.size) {
    double squares = 0;
    for (int64_t z = 0; z < rows.size; ++z) squares += double(x[z]) * double(x[z]);
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, rows.size)) + attrs.epsilon);
    out[1].as<T>()[row] = static_cast<T>(rstd);
    for (int64_t z = 0; z < rows.size; ++z) y[z] = T(double(x[z]) * rstd * double(gamma[z]));
  }
};

OpDef rms_norm_op() {
  OpDef op = row_norm_op(
      "rms_norm", "y = x * rstd * gamma, rstd = 1 / sqrt(mean of x^2 + epsilon) over the last dimension; also rstd",
      rms_norm_parts());
  op.expand = expand_rms_norm;
  op.flops_per_point = 5;
  op.kernel = float_kernel<double, RowNormAttrs>(run_rms_norm);
  return op;
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

constexpr auto run_rms_norm_grad = []<class T>(Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const T *x = in[0].as<T>(), *gamma = in[1].as<T>(), *d_y = in[3].as<T>();
  const auto* rstd = in[2].as<T>();
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
};

OpDef rms_norm_grad_op() {
  OpDef op =
      row_norm_grad_op("rms_norm_grad", "d_x and d_gamma of rms_norm from x, gamma, rstd and d_y", rms_norm_parts());
  op.expand = expand_rms_norm_grad;
  op.grad = by_formula(op.expand);
  op.flops_per_point = 10;
  op.kernel = float_kernel<double>(run_rms_norm_grad);
  return op;
}

}  // namespace

std::vector<OpDef> rms_norm_ops() { return {rms_norm_op(), rms_norm_grad_op()}; }

}  // namespace partita
