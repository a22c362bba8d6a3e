#include <cmath>

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/norm/moments.h"
#include "ir/ops/norm/row_norm.h"

namespace partita {
namespace {

RowNorm layer_norm_parts() { return {2, {"mean", "rstd"}}; }

std::vector<Value> expand_layer_norm(const ExpandCall& call) {
  const Value x = call.inputs[0];
  const DType narrow = x.dtype(), wide = wide_type(narrow);
  const Value exact = to_dtype(call, x, DType::f64);
  const int64_t count = x.shape().back();
  const double share = 1.0 / static_cast<double>(std::max<int64_t>(1, count));
  const Value near = call.apply("scale", {sum_last(call, exact)}, ScaleAttrs{.scale = share});
  const Value differences = call.apply("sub", {exact, near});
  const Value rest = sum_last(call, differences), squares = sum_last(call, call.apply("square", {differences}));
  const double epsilon = call.attrs.as<RowNormAttrs>().epsilon;
  const std::vector<Value> statistics =
      call.apply_all("moments_finish", {near, rest, squares}, MomentsFinishAttrs{count, epsilon, wide});
  const Value centered = call.apply("sub", {to_dtype(call, x, wide), statistics[0]});
  const Value scaled =
      call.apply("mul", {call.apply("mul", {centered, statistics[1]}), to_dtype(call, call.inputs[1], wide)});
  const Value y = call.apply("add", {scaled, to_dtype(call, call.inputs[2], wide)});
  return {to_dtype(call, y, narrow), statistics[0], statistics[1]};
}

constexpr auto run_layer_norm = []<class T>(const RowNormAttrs& attrs, Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const T *x = in[0].as<T>(), *gamma = in[1].as<T>(), *beta = in[2].as<T>();
  T* y = out[0].as<T>();
  const double count = static_cast<double>(std::max<int64_t>(1, rows.size));
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, y += rows.size) {
    double sum = 0, rest = 0, squares = 0;
    for (int64_t z = 0; z < rows.size; ++z) sum += double(x[z]);
    const double near = sum / count;
    for (int64_t z = 0; z < rows.size; ++z) {
      rest += double(x[z]) - near;
      squares += (double(x[z]) - near) * (double(x[z]) - near);
    }
    const auto [mean, variance] = moments_near(near, rest, squares, rows.size);
    const double rstd = 1 / std::sqrt(variance + attrs.epsilon);
    out[1].as<T>()[row] = static_cast<T>(mean);
    out[2].as<T>()[row] = static_cast<T>(rstd);
    for (int64_t z = 0; z < rows.size; ++z) {
      y[z] = T((double(x[z]) - mean) * rstd * double(gamma[z]) + double(beta[z]));
    }
  }
};

OpDef layer_norm_op() {
  OpDef op = row_norm_op("layer_norm",
                         "y = (x - mean) * rstd * gamma + beta over the last dimension; also mean and rstd of each row",
                         layer_norm_parts());
  op.expand = expand_layer_norm;
  op.flops_per_point = 8;
  op.kernel = float_kernel<double, RowNormAttrs>(run_layer_norm);
  return op;
}

std::vector<Value> expand_layer_norm_grad(const ExpandCall& call) {
  const Value x = call.inputs[0];
  const DType narrow = x.dtype(), wide = wide_type(narrow);
  const Value rstd = call.inputs[3], d_y = to_dtype(call, call.inputs[4], wide);
  const Value normal = call.apply("mul", {call.apply("sub", {to_dtype(call, x, wide), call.inputs[2]}), rstd});
  const Value d = call.apply("mul", {d_y, to_dtype(call, call.inputs[1], wide)});
  const Value projection = sum_last(call, call.apply("mul", {d, normal}));
  const Value shared = call.apply("add", {sum_last(call, d), call.apply("mul", {normal, projection})});
  const Value mean = call.apply("scale", {shared}, ScaleAttrs{.scale = 1.0 / static_cast<double>(x.shape().back())});
  const Value d_x = call.apply("mul", {call.apply("sub", {d, mean}), rstd});
  return {to_dtype(call, d_x, narrow), to_dtype(call, sum_rows(call, call.apply("mul", {d_y, normal})), narrow),
          to_dtype(call, sum_rows(call, d_y), narrow)};
}

constexpr auto run_layer_norm_grad = []<class T>(Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const T *x = in[0].as<T>(), *gamma = in[1].as<T>(), *d_y = in[4].as<T>();
  const auto *mean = in[2].as<T>(), *rstd = in[3].as<T>();
  T* d_x = out[0].as<T>();
  std::vector<double> d_gamma(rows.size), d_beta(rows.size);
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, d_y += rows.size, d_x += rows.size) {
    double sum = 0, projection = 0;
    const auto normal = [&](int64_t z) { return (double(x[z]) - double(mean[row])) * double(rstd[row]); };
    for (int64_t z = 0; z < rows.size; ++z) {
      const double d = double(d_y[z]) * double(gamma[z]);
      sum += d;
      projection += d * normal(z);
      d_gamma[z] += double(d_y[z]) * normal(z);
      d_beta[z] += double(d_y[z]);
    }
    for (int64_t z = 0; z < rows.size; ++z) {
      const double d = double(d_y[z]) * double(gamma[z]);
      d_x[z] = T(double(rstd[row]) * (d - (sum + normal(z) * projection) / double(rows.size)));
    }
  }
  for (int64_t z = 0; z < rows.size; ++z) {
    out[1].as<T>()[z] = T(d_gamma[z]);
    out[2].as<T>()[z] = T(d_beta[z]);
  }
};

OpDef layer_norm_grad_op() {
  OpDef op = row_norm_grad_op(
      "layer_norm_grad", "d_x, d_gamma and d_beta of layer_norm from x, gamma, mean, rstd and d_y", layer_norm_parts());
  op.expand = expand_layer_norm_grad;
  op.grad = by_formula(op.expand);
  op.flops_per_point = 14;
  op.kernel = float_kernel<double>(run_layer_norm_grad);
  return op;
}

}  // namespace

std::vector<OpDef> layer_norm_ops() { return {layer_norm_op(), layer_norm_grad_op()}; }

}  // namespace partita
