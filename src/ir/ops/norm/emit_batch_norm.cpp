// The parts of batch normalization as StableHLO, on x as [groups, members, channels, plane]. Sums are f64, as in
// the kernels; what is applied to each element is f32 or f64.
//
// If x has 16 bits in a wider type, sums are added in f32, for which a GPU needs one pass: in one kernel XLA has no
// room for two sums of f64 per channel. Those of the forward pass are sums of differences from a pivot near the mean,
// so that they lose no more than the numbers lack.

#include "ir/ops/emission.h"
#include "ir/ops/norm/batch_norm.h"

namespace partita {
namespace {

class NormEmitter {
 public:
  NormEmitter(const EmitCall& call, int64_t groups, DType dtype)
      : call_(call), dtype_(dtype), sizes_(norm_sizes(call.inputs[0].type.shape, groups)) {
    shape_ = {sizes_.groups, sizes_.members, sizes_.channels, sizes_.plane};
  }

  /// Returns an operand of the shape of x.
  Traced elements(size_t operand) const {
    return {call_, call_.reshape(call_.convert(call_.inputs[operand], dtype_), shape_)};
  }
  /// Returns an operand [groups, channels], as it is or repeated for all elements.
  Traced statistic(size_t operand) const { return {call_, call_.convert(call_.inputs[operand], dtype_)}; }
  Traced spread(const Traced& statistic) const {
    return {call_, call_.broadcast_in(statistic.as(call_, statistics()), {0, 2}, shape_)};
  }
  Traced spread(size_t operand) const { return spread(statistic(operand)); }
  /// Returns an operand [channels], repeated for each group or for all elements.
  Traced channels_of_groups(size_t operand) const {
    return {call_, call_.broadcast_in(call_.convert(call_.inputs[operand], dtype_), {1}, statistics().shape)};
  }
  Traced spread_channels(size_t operand) const {
    return {call_, call_.broadcast_in(call_.convert(call_.inputs[operand], dtype_), {2}, shape_)};
  }

  /// Returns the sums per group and channel.
  Hlo sum(const Traced& x) const {
    return call_.reduce(x.as(call_, type()), "add", call_.splat(0, {dtype_, {}}), {1, 3});
  }
  /// Returns a result of the shape of x.
  std::vector<Hlo> result(const Traced& y) const {
    const Type& type = call_.outputs[0];
    return {call_.convert(call_.reshape(y.as(call_, this->type()), type.shape), type.dtype)};
  }
  /// Returns the sums in f64.
  Traced exact_sum(const Traced& x) const { return {call_, call_.convert(sum(x), DType::f64)}; }
  /// Returns a number near the mean of each group and channel of x: the mean over the plane of the first row, 0 if that
  /// is not finite. There has to be one.
  Hlo pivot() const {
    const Hlo x = elements(0).as(call_, type());
    const Hlo row = hlo_slice(call_, x, {0, 0, 0, 0}, {sizes_.groups, 1, sizes_.channels, sizes_.plane}, {1, 1, 1, 1});
    const Traced sum(call_, call_.reduce(row, "add", call_.splat(0, {dtype_, {}}), {1, 3}));
    const Hlo mean = (sum / static_cast<double>(sizes_.plane)).as(call_, statistics());
    const Hlo is_finite = call_.body.add_typed("stablehlo.is_finite", {mean}, "", {DType::boolean, statistics().shape});
    return call_.select(is_finite, mean, call_.splat(0, statistics()));
  }
  const NormSizes& sizes() const { return sizes_; }
  Type type() const { return {dtype_, shape_}; }
  Type statistics() const { return {dtype_, {shape_[0], shape_[2]}}; }

 private:
  const EmitCall& call_;
  const DType dtype_;
  const NormSizes sizes_;
  Shape shape_;
};

/// Sums per group and channel in f64.
struct PivotSums {
  double count;  // elements of a sum
  Traced pivot, differences, squares;
};

/// Returns the sums of the differences of x from a pivot, and of their squares.
PivotSums pivot_sums(const EmitCall& call, int64_t groups) {
  const NormEmitter emit(call, groups, DType::f32);
  const Hlo pivot = emit.pivot();
  const Traced difference = emit.elements(0) - emit.spread(Traced(call, pivot));
  return {.count = static_cast<double>(emit.sizes().count()),
          .pivot = Traced(call, call.convert(pivot, DType::f64)),
          .differences = emit.exact_sum(difference),
          .squares = emit.exact_sum(difference * difference)};
}

/// Whether sums are made in f32.
bool sums_in_f32(const EmitCall& call) {
  const Hlo& x = call.inputs[0];
  return x.type.elements() > 0 && x.half.has_value();
}

DType wide_of_x(const EmitCall& call) { return wide_type(call.inputs[0].type.dtype); }

}  // namespace

std::vector<Hlo> emit_moments_sum(const EmitCall& call) {
  const int64_t groups = call.attrs.as<MomentsSumAttrs>().groups;
  if (sums_in_f32(call)) {
    const PivotSums sums = pivot_sums(call, groups);
    return {(sums.differences + sums.pivot * sums.count).as(call, call.outputs[0])};
  }
  const NormEmitter emit(call, groups, DType::f64);
  return {emit.sum(emit.elements(0))};
}

std::vector<Hlo> emit_moments_deviations(const EmitCall& call) {
  const int64_t groups = call.inputs[1].type.shape[0];
  if (sums_in_f32(call)) {
    // The compiler finds that the sums are those of `moments_sum`.
    const PivotSums sums = pivot_sums(call, groups);
    const Traced shift = sums.pivot - Traced(call, call.inputs[1]);
    const Traced rest = sums.differences + shift * sums.count;
    const Traced squares = sums.squares + shift * (sums.differences + rest);
    return {rest.as(call, call.outputs[0]), squares.as(call, call.outputs[1])};
  }
  const NormEmitter emit(call, groups, DType::f64);
  const Traced difference = emit.elements(0) - emit.spread(1);
  return {emit.sum(difference), emit.sum(difference * difference)};
}

std::vector<Hlo> emit_batch_norm_apply(const EmitCall& call) {
  const NormEmitter emit(call, call.inputs[3].type.shape[0], wide_of_x(call));
  const Traced scale = emit.statistic(4) * emit.channels_of_groups(1);
  return emit.result((emit.elements(0) - emit.spread(3)) * emit.spread(scale) + emit.spread_channels(2));
}

std::vector<Hlo> emit_batch_norm_inference(const EmitCall& call) {
  const NormEmitter emit(call, 1, wide_of_x(call));
  const double epsilon = call.attrs.as<BatchNormInferenceAttrs>().epsilon;
  const Traced rstd = 1 / sqrt_of(emit.channels_of_groups(4) + epsilon), scale = rstd * emit.channels_of_groups(1);
  return emit.result((emit.elements(0) - emit.spread_channels(3)) * emit.spread(scale) + emit.spread_channels(2));
}

std::vector<Hlo> emit_batch_norm_grad_sums(const EmitCall& call) {
  const int64_t groups = call.inputs[1].type.shape[0];
  const NormEmitter emit(call, groups, sums_in_f32(call) ? DType::f32 : DType::f64);
  const Traced d_y = emit.elements(3), rstd(call, call.convert(call.inputs[2], DType::f64));
  const Traced projected = emit.exact_sum(d_y * (emit.elements(0) - emit.spread(1)));
  return {emit.exact_sum(d_y).as(call, call.outputs[0]), (projected * rstd).as(call, call.outputs[1])};
}

std::vector<Hlo> emit_batch_norm_grad_apply(const EmitCall& call) {
  const int64_t groups = call.inputs[2].type.shape[0];
  const NormEmitter emit(call, groups, wide_of_x(call)), sums(call, groups, DType::f64);
  const auto count = static_cast<double>(call.attrs.as<BatchNormGradApplyAttrs>().count);
  const auto per_element = [&](const Traced& sum) {
    return Traced(call, call.convert(sum.as(call, sums.statistics()), emit.statistics().dtype));
  };
  const Traced shift = per_element(sums.statistic(5) / count),
               slope = per_element(sums.statistic(6) / count * sums.statistic(3));
  const Traced scale = emit.statistic(3) * emit.channels_of_groups(1);
  return emit.result(emit.spread(scale) * (emit.elements(4) - emit.spread(shift) -
                                           (emit.elements(0) - emit.spread(2)) * emit.spread(slope)));
}

std::vector<Hlo> emit_running_statistics(const EmitCall& call) {
  const auto& attrs = call.attrs.as<RunningStatisticsAttrs>();
  const DType wide = wide_of_x(call);
  const auto operand = [&](size_t k) { return Traced(call, call.convert(call.inputs[k], wide)); };
  const Type batch{wide, call.inputs[2].type.shape}, running{wide, call.outputs[0].shape};
  const Traced mean = operand(2), rstd = operand(3);
  const Traced variance = max_of(1 / (rstd * rstd) - attrs.epsilon, 0);
  const double unbiased = double(attrs.count) / double(std::max<int64_t>(1, attrs.count - 1));
  const double part = attrs.momentum / double(std::max<int64_t>(1, batch.shape[0]));
  const auto moved = [&](size_t k, const Traced& values, double factor) {
    const Traced sum(call, call.reduce(values.as(call, batch), "add", call.splat(0, {wide, {}}), {0}));
    return call.convert((operand(k) * (1 - attrs.momentum) + sum * factor).as(call, running), call.outputs[k].dtype);
  };
  return {moved(0, mean, part), moved(1, variance, part * unbiased)};
}

}  // namespace partita
