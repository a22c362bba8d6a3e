// The parts of batch normalization as StableHLO, on x as [groups, members, channels, plane]. Sums are f64, as in
// the kernels; what is applied to each element is f32 or f64.

#include "ir/ops/norm/batch_norm.h"

namespace partita {
namespace {

class NormEmitter {
 public:
  NormEmitter(const EmitCall& call, int64_t groups, DType dtype) : call_(call), dtype_(dtype) {
    const NormSizes sizes = norm_sizes(call.inputs[0].type.shape, groups);
    shape_ = {sizes.groups, sizes.members, sizes.channels, sizes.plane};
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
  Type type() const { return {dtype_, shape_}; }
  Type statistics() const { return {dtype_, {shape_[0], shape_[2]}}; }

 private:
  const EmitCall& call_;
  const DType dtype_;
  Shape shape_;
};

DType wide_of_x(const EmitCall& call) { return wide_type(call.inputs[0].type.dtype); }

}  // namespace

std::vector<Hlo> emit_moments_sum(const EmitCall& call) {
  const NormEmitter emit(call, call.attrs.as<MomentsSumAttrs>().groups, DType::f64);
  return {emit.sum(emit.elements(0))};
}

std::vector<Hlo> emit_moments_deviations(const EmitCall& call) {
  const NormEmitter emit(call, call.inputs[1].type.shape[0], DType::f64);
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
  const NormEmitter emit(call, call.inputs[1].type.shape[0], DType::f64);
  const Traced d_y = emit.elements(3);
  const Traced projected(call, emit.sum(d_y * (emit.elements(0) - emit.spread(1))));
  return {emit.sum(d_y), (projected * emit.statistic(2)).as(call, emit.statistics())};
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
