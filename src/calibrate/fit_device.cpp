#include "calibrate/fit_device.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/minimise.h"
#include "calibrate/times.h"

namespace partita {
namespace {

constexpr double kMinShare = 1e-4, kMinExtra = 0.1, kMaxExtra = 1024;
constexpr double kMaxFlopShare = 1, kMaxByteShare = 100;  // bytes may exceed 1: caches are faster than memory

/// Returns sizes, 1 and 3 times powers of 10 from 1000 on, ascending, from half the least to twice the largest of the
/// nodes' values of `size` above 0; none if no node has one.
std::vector<double> sizes_of(const std::vector<const NodeTime*>& nodes, double Work::*size) {
  double least = 1e30, most = 0;
  for (const NodeTime* node : nodes) {
    if (node->work.*size <= 0) continue;
    least = std::min(least, node->work.*size);
    most = std::max(most, node->work.*size);
  }
  std::vector<double> sizes;
  for (double decade = 1e3; decade < 1e15; decade *= 10) {
    for (const double at : {decade, 3 * decade}) {
      if (at >= least / 2 && at <= most * 2) sizes.push_back(at);
    }
  }
  return sizes;
}

/// Returns a curve of shares by size, each from kMinShare to `most`, lowered where more work would take less time.
Curve monotone_curve(const std::vector<double>& sizes, const double* shares, double most) {
  Curve curve;
  for (size_t i = 0; i < sizes.size(); ++i) {
    double share = std::clamp(shares[i], kMinShare, most);
    if (i > 0) share = std::min(share, curve.back().share * sizes[i] / sizes[i - 1]);
    curve.push_back({sizes[i], share});
  }
  return curve;
}

/// Fit of one kind of work: a curve by bytes, one by operations if they limit it, and for products the extra rows,
/// columns and depth.
class KindFit {
 public:
  KindFit(const DeviceSpec& device, WorkKind kind, std::vector<const NodeTime*> nodes)
      : device_(device), kind_(kind), nodes_(std::move(nodes)) {
    device_.measured.clear();
    byte_sizes_ = sizes_of(nodes_, &Work::bytes);
    flop_sizes_ = sizes_of(nodes_, &Work::flops);
    const bool is_computing = kind == WorkKind::product || kind == WorkKind::convolution || kind == WorkKind::attention;
    if (!is_computing && flop_sizes_.size() > 1) flop_sizes_.resize(1);
    for (const NodeTime* node : nodes_) weight_ += weight_of(*node), measured_ += node->seconds;
  }

  Efficiency best() {
    const auto loss_of = [&](const std::vector<double>& numbers) {
      device_.efficiency[kind_] = efficiency_of(numbers);
      return loss();
    };
    std::vector<double> best;
    for (const double extra : {1.0, 8.0, 32.0}) {
      const std::vector<double> found = minimise(start(extra), loss_of);
      if (best.empty() || loss_of(found) < loss_of(best)) best = found;
      if (kind_ != WorkKind::product) break;
    }
    return efficiency_of(best);
  }

 private:
  static double weight_of(const NodeTime& node) { return std::pow(node.seconds, 0.25); }

  /// Returns shares that the nodes reach, as a starting point, followed by `extra` as the extra rows, columns and depth
  /// of products. The curves of the fit may allow more.
  std::vector<double> start(double extra) const {
    std::vector<double> numbers;
    double fastest = 0;
    for (const auto& [dtype, peak] : device_.peak) fastest = std::max(fastest, peak);
    for (const double size : byte_sizes_) numbers.push_back(reached(&Work::bytes, size, device_.memory_bandwidth));
    for (const double size : flop_sizes_) numbers.push_back(reached(&Work::flops, size, fastest));
    if (kind_ == WorkKind::product) numbers.resize(numbers.size() + 3, extra);
    return numbers;
  }

  /// Returns the largest share of `rate` at which a node of about this size handles `amount` (work per second), or any
  /// node if none has such a size.
  double reached(double Work::*amount, double size, double rate) const {
    double near = 0, any = 0;
    for (const NodeTime* node : nodes_) {
      const double seconds = std::max(node->seconds - device_.launch_overhead, node->seconds / 10);
      const double share = node->work.*amount / seconds / rate;
      any = std::max(any, share);
      if (std::abs(std::log10(node->work.*amount / size)) <= 0.25) near = std::max(near, share);
    }
    return near > 0 ? near : any;
  }

  Efficiency efficiency_of(const std::vector<double>& numbers) const {
    Efficiency efficiency;
    efficiency.bytes = monotone_curve(byte_sizes_, numbers.data(), kMaxByteShare);
    efficiency.flops = monotone_curve(flop_sizes_, numbers.data() + byte_sizes_.size(), kMaxFlopShare);
    if (kind_ != WorkKind::product) return efficiency;
    const double* extra = numbers.data() + byte_sizes_.size() + flop_sizes_.size();
    const auto elements = [](double number) { return number < kMinExtra ? 0 : std::min(number, kMaxExtra); };
    efficiency.extra_rows = elements(extra[0]);
    efficiency.extra_columns = elements(extra[1]);
    efficiency.extra_depth = elements(extra[2]);
    return efficiency;
  }

  double loss() const {
    double single = 0, sum = 0;
    for (const NodeTime* node : nodes_) {
      const double predicted = seconds_of(node->work, device_);
      single += weight_of(*node) * std::abs(std::log(predicted / node->seconds));
      sum += predicted;
    }
    return single / weight_ + std::abs(std::log(sum / measured_));
  }

  DeviceSpec device_;
  WorkKind kind_;
  std::vector<const NodeTime*> nodes_;
  std::vector<double> byte_sizes_, flop_sizes_;
  double weight_ = 0, measured_ = 0;
};

/// Returns the shortest time of the nodes with at most 2000 operations and 2000 bytes, 0 if there are none.
double launch_overhead_of(const std::vector<NodeTime>& nodes) {
  constexpr double kFewFlops = 2e3, kFewBytes = 2e3;
  std::vector<double> times;
  for (const NodeTime& node : nodes) {
    if (node.work.flops <= kFewFlops && node.work.bytes <= kFewBytes) times.push_back(node.seconds);
  }
  return shortest(times);
}

/// Fits the efficiency of each kind of work, which all ops of that kind share, to the times of its nodes, and stores it
/// in `device`. A kind without a time above 0 keeps its efficiency.
void fit_kinds(DeviceSpec& device, const std::vector<NodeTime>& nodes) {
  for (size_t k = 0; k < kNames<WorkKind>.size(); ++k) {
    const auto kind = static_cast<WorkKind>(k);
    std::vector<const NodeTime*> of_kind;
    for (const NodeTime& node : nodes) {
      if (node.work.kind == kind && node.seconds > 0) of_kind.push_back(&node);
    }
    if (!of_kind.empty()) device.efficiency[kind] = KindFit(device, kind, of_kind).best();
  }
}

MeasuredCall call_of(const NodeTime& node, const DeviceSpec& device) {
  constexpr double kMinPart = 0.1;  // minimum share of a call that is not overhead
  const Work& work = node.work;
  const double seconds = std::max(node.seconds - device.launch_overhead, kMinPart * node.seconds);
  const double amount = is_compute_bound(work) ? work.flops : work.bytes;
  return {.flops = work.flops,
          .bytes = work.bytes,
          .batch = work.batch,
          .rows = work.rows,
          .columns = work.columns,
          .depth = work.depth,
          .share = amount / seconds / rate_of(work, device)};
}

/// Returns the calls of the nodes, which are of one op; of those that have nearly the same sizes only the one with the
/// median share, of an even number the larger of the middle two.
std::vector<MeasuredCall> distinct_calls(const std::vector<const NodeTime*>& nodes, const DeviceSpec& device) {
  constexpr double kPartsOfOctave = 4;
  using Key = std::array<long, 6>;
  std::map<Key, std::vector<MeasuredCall>> alike;
  for (const NodeTime* node : nodes) {
    const MeasuredCall call = call_of(*node, device);
    const auto place = [](double size) { return size > 0 ? std::lround(kPartsOfOctave * std::log2(size)) : -1; };
    alike[{place(call.flops), place(call.bytes), place(call.batch), place(call.rows), place(call.columns),
           place(call.depth)}]
        .push_back(call);
  }
  std::vector<MeasuredCall> calls;
  for (auto& [key, same] : alike) {
    std::sort(same.begin(), same.end(), [](const MeasuredCall& a, const MeasuredCall& b) { return a.share < b.share; });
    calls.push_back(same[same.size() / 2]);
  }
  return calls;
}

void measure_ops(DeviceSpec& device, const std::vector<NodeTime>& nodes) {
  std::map<std::string, std::vector<const NodeTime*>> by_op;
  for (const NodeTime& node : nodes) {
    if (node.seconds > 0 && node.work.dtype == DType::f32) by_op[node.op].push_back(&node);
  }
  for (const auto& [op, of_op] : by_op) device.measured[op] = distinct_calls(of_op, device);
}

}  // namespace

DeviceSpec fit_device(DeviceSpec device, const std::vector<NodeTime>& nodes) {
  device.launch_overhead = launch_overhead_of(nodes);
  fit_kinds(device, nodes);
  measure_ops(device, nodes);
  return device;
}

}  // namespace partita
