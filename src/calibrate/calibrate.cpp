#include "calibrate/calibrate.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "calibrate/fit_device.h"
#include "calibrate/fit_links.h"
#include "calibrate/shortest.h"

namespace partita {
namespace {

constexpr int kGroupSizes[] = {2, 4, 8};
constexpr int64_t kFewestRanks = 8;

/// Bytes that are read and written in a second by copies of `threads` threads at once, each of memory of its own.
double copy_bandwidth(int threads) {
  constexpr size_t kBytes = size_t{64} << 20;
  constexpr int kCopies = 6;
  std::vector<double> rates(static_cast<size_t>(threads));
  const auto copy = [&](size_t thread) {
    std::vector<char> from(kBytes, 1), to(kBytes, 2);
    std::vector<double> times;
    for (int i = 0; i < kCopies; ++i) {
      const auto begin = CalibrationClock::now();
      std::memcpy(to.data(), from.data(), kBytes);
      times.push_back(seconds_since(begin));
      from[static_cast<size_t>(i)] = to[kBytes - 1];
    }
    rates[thread] = 2.0 * static_cast<double>(kBytes) / shortest(times);
  };
  std::vector<std::thread> others;
  for (size_t thread = 1; thread < rates.size(); ++thread) others.emplace_back(copy, thread);
  copy(0);
  for (std::thread& other : others) other.join();
  double all = 0;
  for (const double rate : rates) all += rate;
  return all;
}

/// The rate of the fastest product.
double best_rate(const TrainingTime& time) {
  double best = 0;
  for (const NodeTime& node : time.nodes) {
    if (node.work.kind == WorkKind::product) best = std::max(best, node.work.flops / node.seconds);
  }
  return best;
}

/// Of products, of which large ones gain most.
double product_seconds(const TrainingTime& time) {
  double seconds = 0;
  for (const NodeTime& node : time.nodes) {
    if (node.work.kind == WorkKind::product) seconds += node.seconds;
  }
  return seconds;
}

/// To four digits: more of them mean nothing and are hard to read.
void round_numbers(Cluster& cluster) {
  const auto round = [](double& number) { number = std::strtod(fmt::format("{:.4g}", number).c_str(), nullptr); };
  const auto round_curve = [&](Curve& curve) {
    for (size_t i = 0; i < curve.size(); ++i) {
      round(curve[i].share);
      if (i > 0) curve[i].share = std::min(curve[i].share, curve[i - 1].share * curve[i].size / curve[i - 1].size);
    }
  };
  DeviceSpec& device = cluster.device;
  for (auto& [dtype, peak] : device.peak) round(peak);
  const auto round_efficiency = [&](Efficiency& efficiency) {
    round_curve(efficiency.flops);
    round_curve(efficiency.bytes);
    for (double* extra : {&efficiency.extra_rows, &efficiency.extra_columns, &efficiency.extra_depth}) round(*extra);
  };
  for (auto& [kind, efficiency] : device.efficiency) round_efficiency(efficiency);
  for (auto& [op, efficiency] : device.op_efficiency) round_efficiency(efficiency);
  for (auto& [op, factor] : device.op_factor) round(factor);
  for (auto& [kind, share] : cluster.software.link_share) round(share);
  LinkLevel& level = cluster.levels[0];
  for (double* number :
       {&device.memory_bandwidth, &device.launch_overhead, &cluster.memory_bus, &cluster.thread_share, &level.bandwidth,
        &level.latency[0], &level.total_bandwidth, &cluster.protocols[0].overhead, &cluster.software.step_overhead}) {
    round(*number);
  }
}

double physical_memory() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::vector<TrainingCase> calibration_cases() {
  return {
      {"mlp:layers=4,hidden=64", 32},
      {"mlp:layers=3,hidden=512", 128},
      {"mlp:layers=2,hidden=2048", 64},
      {"mlp:layers=2,hidden=4096", 16},
      {"lenet", 64},
      {"resnet18:width=16", 16},
      {"resnet50", 16},
      {"gpt:layers=2,hidden=64,heads=2,seq=64", 4},
      {"gpt:layers=1,hidden=256,heads=8,seq=128", 8},
  };
}

double Measurements::disturbance() const {
  double most = 1;
  for (const TrainingTime& training : trainings) most = std::max(most, training.disturbance);
  return most;
}

Measurements measure_machine(const CalibrationOptions& options) {
  const auto tell = [&](const std::string& line) {
    if (options.progress) options.progress(line);
  };
  const double share = options.seconds / static_cast<double>(2 * options.cases.size());
  Measurements measured;
  tell("copies");
  measured.copy_bandwidth = copy_bandwidth(1);
  measured.copy_bandwidth_of_all = std::max(measured.copy_bandwidth, copy_bandwidth(options.cores));
  for (const TrainingCase& training : options.cases) {
    tell(fmt::format("{}, batch {}", training.model, training.batch));
    measured.trainings.push_back(time_training(training, share));
    double& peak = measured.peak[training.dtype];
    peak = std::max(peak, best_rate(measured.trainings.back()));
  }
  TrainingCase products{.model = "mlp:layers=2,hidden=1024", .batch = 256};
  tell(fmt::format("{} on 1 and {} cores", products.model, options.cores));
  const TrainingTime one = time_training(products, share);
  measured.peak[products.dtype] = std::max(measured.peak[products.dtype], best_rate(one));
  if (options.cores > 1) {
    products.threads = options.cores;
    const double faster = product_seconds(one) / product_seconds(time_training(products, share));
    measured.thread_share = std::clamp((faster - 1) / (options.cores - 1), 0.01, 1.0);
  }
  tell("products of f64");
  measured.peak[DType::f64] =
      best_rate(time_training({.model = "mlp:layers=2,hidden=512", .batch = 128, .dtype = DType::f64}, share));
  for (const int ranks : kGroupSizes) {
    tell(fmt::format("collectives of {} ranks", ranks));
    const auto times = time_collectives(ranks, share / 10);
    measured.collectives.insert(measured.collectives.end(), times.begin(), times.end());
  }
  return measured;
}

Cluster fit_machine(const Measurements& measured, const CalibrationOptions& options) {
  Cluster cluster;
  cluster.name = options.name;
  cluster.device = {
      .name = "core", .peak = measured.peak, .memory = physical_memory(), .memory_bandwidth = measured.copy_bandwidth};
  std::vector<NodeTime> nodes;
  std::vector<double> overheads;
  for (const TrainingTime& training : measured.trainings) {
    double seconds = 0;
    for (const NodeTime& node : training.nodes) seconds += node.seconds;
    overheads.push_back(std::max(0.0, training.step - seconds));
    nodes.insert(nodes.end(), training.nodes.begin(), training.nodes.end());
  }
  cluster.device = fit_device(cluster.device, nodes);
  cluster.protocols = {{.name = "memory"}};
  cluster.levels = {{.name = "core", .size = std::max<int64_t>(kFewestRanks, options.cores), .latency = {0}}};
  cluster.software.step_overhead = *std::min_element(overheads.begin(), overheads.end());
  cluster.software.overlap_slowdown = 2;  // the cores that communicate are those that compute
  cluster.software.messages_at_once = 1;
  cluster.software.channel_block = 16;  // as the kernels of convolutions have them
  cluster.cores = options.cores;
  cluster.memory_bus = measured.copy_bandwidth_of_all;
  cluster.thread_share = measured.thread_share;
  cluster = fit_links(std::move(cluster), measured.collectives);
  round_numbers(cluster);
  verify(cluster);
  return cluster;
}

std::string describe_fit(const Measurements& measured, const CalibrationOptions& options, const Cluster& cluster) {
  std::string text;
  double mean = 0, most = 0;
  for (size_t i = 0; i < measured.trainings.size(); ++i) {
    double predicted = cluster.software.step_overhead;
    for (const NodeTime& node : measured.trainings[i].nodes) predicted += seconds_of(node.work, cluster.device);
    const double error = predicted / measured.trainings[i].step - 1;
    text += fmt::format("  {:<44} measured {:9.3f} ms, predicted {:9.3f} ms, {:+5.1f} %\n", options.cases[i].model,
                        1e3 * measured.trainings[i].step, 1e3 * predicted, 100 * error);
  }
  for (const CollectiveTime& time : measured.collectives) {
    const double error = std::abs(predicted_seconds(cluster, time) / time.seconds - 1);
    mean += error / static_cast<double>(measured.collectives.size());
    most = std::max(most, error);
  }
  return text + fmt::format("  {} collectives: error {:.0f} % on average, {:.0f} % at most\n",
                            measured.collectives.size(), 100 * mean, 100 * most);
}

}  // namespace partita
