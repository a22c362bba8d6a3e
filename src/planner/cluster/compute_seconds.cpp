#include "planner/cluster/compute_seconds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace partita {

double share_at(const Curve& curve, double size) {
  if (curve.empty()) return 1;
  if (size <= curve.front().size) return curve.front().share;
  if (size >= curve.back().size) return curve.back().share;
  const auto above = std::upper_bound(curve.begin(), curve.end(), size,
                                      [](double value, const CurvePoint& point) { return value < point.size; });
  const CurvePoint &low = *(above - 1), &high = *above;
  const double at = std::log(size / low.size) / std::log(high.size / low.size);
  return low.share * std::pow(high.share / low.share, at);
}

double peak_of(const DeviceSpec& device, DType dtype) {
  static constexpr std::array kOfBf16{DType::bf16, DType::f16, DType::f32, DType::f64};
  static constexpr std::array kOfF16{DType::f16, DType::bf16, DType::f32, DType::f64};
  static constexpr std::array kOfOthers{DType::f32, DType::f64};
  static constexpr std::array kOfF64{DType::f64};
  const std::span<const DType> types = dtype == DType::bf16  ? std::span<const DType>(kOfBf16)
                                       : dtype == DType::f16 ? std::span<const DType>(kOfF16)
                                       : dtype == DType::f64 ? std::span<const DType>(kOfF64)
                                                             : std::span<const DType>(kOfOthers);
  for (const DType type : types) {
    if (const auto found = device.peak.find(type); found != device.peak.end()) return found->second;
  }
  double slowest = 0;
  for (const auto& [type, peak] : device.peak) slowest = slowest == 0 ? peak : std::min(slowest, peak);
  return slowest;
}

namespace {

/// The efficiency of the op, or else of its kind; full rates if neither is specified.
const Efficiency& efficiency_of(const Work& work, const DeviceSpec& device) {
  static const Efficiency kFull;
  if (const auto of_op = device.op_efficiency.find(work.op); of_op != device.op_efficiency.end()) return of_op->second;
  const auto of_kind = device.efficiency.find(work.kind);
  return of_kind == device.efficiency.end() ? kFull : of_kind->second;
}

/// The logarithm of a size to base 2; above `large`, where rates hardly depend on the size, it grows more slowly.
double octaves(double size, double large) {
  constexpr double kBeyond = 0.2;
  return size <= large ? std::log2(size) : std::log2(large) + kBeyond * std::log2(size / large);
}

/// Returns the geometric mean of the calls' shares. Weights are the inverse square of the squared distance of sizes in
/// octaves; a size that is 0 for the work or the call does not count.
double share_near(const std::vector<MeasuredCall>& calls, const Work& work) {
  constexpr double kNear = 1e-3, kLargeSide = 256, kLargeBytes = 64e6, kLargeNumber = 1;
  double weights = 0, sum = 0;
  for (const MeasuredCall& call : calls) {
    double distance = kNear;
    const auto apart = [&](double a, double b, double large) {
      if (a <= 0 || b <= 0) return;
      const double difference = octaves(a, large) - octaves(b, large);
      distance += difference * difference;
    };
    apart(work.flops, call.flops, kLargeNumber);
    apart(work.batch, call.batch, kLargeNumber);
    apart(work.bytes, call.bytes, kLargeBytes);
    apart(work.rows, call.rows, kLargeSide);
    apart(work.columns, call.columns, kLargeSide);
    apart(work.depth, call.depth, kLargeSide);
    const double weight = 1 / (distance * distance);
    weights += weight;
    sum += weight * std::log(call.share);
  }
  return std::exp(sum / weights);
}

}  // namespace

bool is_compute_bound(const Work& work) {
  return work.kind == WorkKind::product || work.kind == WorkKind::convolution || work.kind == WorkKind::attention ||
         work.bytes <= 0;
}

double rate_of(const Work& work, const DeviceSpec& device) {
  return is_compute_bound(work) ? peak_of(device, work.dtype) : device.memory_bandwidth;
}

double seconds_of(const Work& work, const DeviceSpec& device) {
  if (work.flops <= 0 && work.bytes <= 0) return 0;
  if (const auto calls = device.measured.find(work.op); calls != device.measured.end()) {
    const double amount = is_compute_bound(work) ? work.flops : work.bytes;
    return amount / (rate_of(work, device) * share_near(calls->second, work)) + device.launch_overhead;
  }
  const Efficiency& efficiency = efficiency_of(work, device);
  double flops = work.flops;
  if (work.rows > 0) flops *= 1 + efficiency.extra_rows / work.rows;
  if (work.columns > 0) flops *= 1 + efficiency.extra_columns / work.columns;
  if (work.depth > 0) flops *= 1 + efficiency.extra_depth / work.depth;
  const double of_columns = work.repeated ? 1 : share_at(efficiency.columns, work.columns);
  const double share = share_at(efficiency.flops, flops) * of_columns;
  const double computing = flops / (peak_of(device, work.dtype) * share);
  const double moving = work.bytes / (device.memory_bandwidth * share_at(efficiency.bytes, work.bytes));
  const auto factor = device.op_factor.find(work.op);
  const double times = factor == device.op_factor.end() ? 1 : factor->second;
  return std::max(computing, moving) * times + device.launch_overhead;
}

}  // namespace partita
