// The gradients of batch normalization as formulas of ops that have gradients, for gradients of gradients.

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/norm/batch_norm.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/shape/attrs.h"

namespace partita {
namespace {

/// Builds nodes on x[groups, members, c, plane] in the wide type.
class Grouped {
 public:
  Grouped(const BuildCall& call, const Type& x, int64_t groups)
      : call_(call), sizes_(norm_sizes(x.shape, groups)), dtype_(wide_type(x.dtype)), x_(x) {}

  double share() const { return 1 / static_cast<double>(std::max<int64_t>(1, sizes_.count())); }
  /// Returns a tensor of the type of x, one of statistics [groups, c], or one of channels [c], to be broadcast.
  Value rows(Value x) const { return shaped(x, {sizes_.groups, sizes_.members, sizes_.channels, sizes_.plane}); }
  Value statistics(Value value) const { return shaped(value, {sizes_.groups, 1, sizes_.channels, 1}); }
  Value channels(Value value) const { return shaped(value, {1, 1, sizes_.channels, 1}); }

  Value mul(Value a, Value b) const { return call_.apply("mul", {a, b}); }
  Value scaled(Value value, double scale) const { return call_.apply("scale", {value}, ScaleAttrs{.scale = scale}); }
  /// Returns (x - mean) * rstd.
  Value normal(Value x, Value mean, Value rstd) const {
    return mul(call_.apply("sub", {rows(x), statistics(mean)}), statistics(rstd));
  }
  /// Returns the sums per group and channel.
  Value sum(Value value) const {
    return call_.apply("reduce", {value}, ReduceAttrs{.kind = Reduce::sum, .axes = {1, 3}, .keep_dims = true});
  }
  /// Returns a value of rows in the type of x.
  Value like_x(Value value) const { return to_dtype(call_, reshape(value, x_.shape), x_.dtype); }
  /// Returns sums per group and channel as [groups, c] in f64.
  Value sums(Value value) const {
    return to_dtype(call_, reshape(value, {sizes_.groups, sizes_.channels}), DType::f64);
  }
  /// Returns the sums over the groups as [c] in the type of x.
  Value of_channels(Value value) const {
    return to_dtype(call_, call_.apply("reduce", {value}, ReduceAttrs{.kind = Reduce::sum, .axes = {0, 1, 3}}),
                    x_.dtype);
  }

 private:
  Value reshape(Value value, const Shape& shape) const {
    return call_.apply("reshape", {value}, ReshapeAttrs{.shape = shape});
  }
  Value shaped(Value value, const Shape& shape) const { return reshape(to_dtype(call_, value, dtype_), shape); }

  const BuildCall& call_;
  NormSizes sizes_;
  DType dtype_;
  Type x_;
};

}  // namespace

Value gradient_of_batch_statistics(const GradCall& call) {
  const Value x = call.inputs[0], mean = call.outputs[1], rstd = call.outputs[2];
  const Grouped in(call, x.type(), mean.shape()[0]);
  const Value d_mean = call.d_outputs[1], d_rstd = call.d_outputs[2];
  if (!d_mean && !d_rstd) return {};
  const auto statistics = [&](Value value) { return value ? in.statistics(value) : value; };
  return in.like_x(gradient_of_moments(call, in.rows(x), in.statistics(mean), in.statistics(rstd), statistics(d_mean),
                                       statistics(d_rstd), in.share()));
}

std::vector<Value> batch_norm_grad_formula(const ExpandCall& call) {
  const Value x = call.inputs[0], mean = call.inputs[2], rstd = call.inputs[3];
  const Grouped in(call, x.type(), mean.shape()[0]);
  const Value normal = in.normal(x, mean, rstd), d_y = in.rows(call.inputs[4]), product = in.mul(d_y, normal);
  const Value shared = call.apply("add", {in.sum(d_y), in.mul(normal, in.sum(product))});
  const Value rest = call.apply("sub", {d_y, in.scaled(shared, in.share())});
  const Value d_x = in.mul(rest, in.mul(in.channels(call.inputs[1]), in.statistics(rstd)));
  return {in.like_x(d_x), in.of_channels(product), in.of_channels(d_y)};
}

std::vector<Value> batch_norm_grad_sums_formula(const ExpandCall& call) {
  const Value x = call.inputs[0], mean = call.inputs[1], rstd = call.inputs[2];
  const Grouped in(call, x.type(), mean.shape()[0]);
  const Value d_y = in.rows(call.inputs[3]);
  return {in.sums(in.sum(d_y)), in.sums(in.sum(in.mul(d_y, in.normal(x, mean, rstd))))};
}

}  // namespace partita
