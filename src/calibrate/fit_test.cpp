#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "calibrate/fit_device.h"
#include "calibrate/fit_links.h"
#include "calibrate/minimise.h"
#include "planner/cluster/presets.h"

namespace partita {
namespace {

TEST(Minimise, FindsTheLeast) {
  const std::vector<double> wanted = {3e-6, 70, 2e9};
  const std::vector<double> found = minimise({1e-3, 1, 1}, [&](const std::vector<double>& numbers) {
    double loss = 0;
    for (size_t i = 0; i < wanted.size(); ++i) loss += std::abs(std::log(numbers[i] / wanted[i]));
    return loss;
  });
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i] / wanted[i], 1, 0.01);
}

/// A device with efficiencies that a fit has to recover from the times of some nodes.
DeviceSpec hidden_device() {
  DeviceSpec device{
      .name = "hidden", .peak = {{DType::f32, 1e11}}, .memory = 1e9, .memory_bandwidth = 1e10, .launch_overhead = 5e-7};
  device.efficiency[WorkKind::product] = {{{1e5, 0.3}, {1e9, 0.9}}, {{1e4, 4}, {1e8, 0.8}}, 4, 4, 8};
  device.efficiency[WorkKind::pointwise] = {{{1e3, 0.05}}, {{1e4, 5}, {1e6, 2}, {1e8, 0.9}}};
  device.op_factor = {{"slow", 7}, {"rare", 3}};
  return device;
}

std::vector<NodeTime> nodes_of(const DeviceSpec& device) {
  std::mt19937 random(7);
  const auto draw = [&](int most) { return std::ldexp(1.0, static_cast<int>(random() % static_cast<unsigned>(most))); };
  std::vector<NodeTime> nodes;
  const auto add = [&](std::string op, Work work) {
    work.op = op;
    nodes.push_back({std::move(op), work, seconds_of(work, device)});
  };
  for (int i = 0; i < 60; ++i) {
    const double rows = 8 * draw(8), columns = 8 * draw(8), depth = 8 * draw(8);
    add("product", {.kind = WorkKind::product,
                    .flops = 2 * rows * columns * depth,
                    .bytes = 4 * (rows * depth + depth * columns + rows * columns),
                    .rows = rows,
                    .columns = columns,
                    .depth = depth});
    const double elements = 64 * draw(18);
    for (const char* op : {"fast", "quick", "slow"}) add(op, {.flops = elements, .bytes = 8 * elements});
  }
  for (const double elements : {1e4, 1e5, 1e6, 3e6}) add("rare", {.flops = elements, .bytes = 8 * elements});
  add("scalar", {.flops = 1, .bytes = 8});
  return nodes;
}

TEST(FitDevice, FindsWhatTheTimesCameFrom) {
  const DeviceSpec hidden = hidden_device();
  const std::vector<NodeTime> nodes = nodes_of(hidden);
  DeviceSpec start = hidden;
  start.efficiency.clear(), start.op_factor.clear();
  start.launch_overhead = 0;
  const DeviceSpec found = fit_device(start, nodes);
  EXPECT_NEAR(found.launch_overhead / hidden.launch_overhead, 1, 0.05);
  double error = 0, measured = 0, predicted = 0;
  for (const NodeTime& node : nodes) {
    const double seconds = seconds_of(node.work, found);
    error += std::abs(std::log(seconds / node.seconds)) / static_cast<double>(nodes.size());
    measured += node.seconds, predicted += seconds;
  }
  EXPECT_LT(error, 0.1);
  EXPECT_NEAR(predicted / measured, 1, 0.03);
  // Sizes between the measured ones.
  double between = 0, count = 0;
  for (const double elements : {96.0, 3e3, 5e4, 1.5e6, 6e6}) {
    for (const char* op : {"fast", "slow"}) {
      const Work work{.flops = elements, .bytes = 8 * elements, .op = op};
      between += std::abs(std::log(seconds_of(work, found) / seconds_of(work, hidden)));
      ++count;
    }
  }
  EXPECT_LT(between / count, 0.15);
  // An op that was not measured uses the curves of its kind.
  EXPECT_GT(seconds_of({.flops = 1e6, .bytes = 8e6, .op = "other"}, found), 0);
  EXPECT_FALSE(found.measured.contains("other"));
}

void expect_found(const std::vector<CollectiveAlgorithm>& algorithms) {
  Cluster hidden = cluster_named("cpu");
  hidden.software.algorithms = algorithms;
  hidden.levels.pop_back();
  hidden.protocols[0].overhead = 4e-6;
  hidden.levels[0].latency = {1.5e-6};
  hidden.levels[0].bandwidth = 12e9;
  hidden.levels[0].total_bandwidth = 30e9;
  hidden.software.link_share = {{Collective::all_gather, 0.4}};
  std::vector<CollectiveTime> times;
  for (const int ranks : {2, 4, 8}) {
    for (const double bytes : {1e3, 1e5, 1e6, 1e7}) {
      for (const Collective kind : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
        times.push_back({kind, ranks, bytes, 0});
        times.back().seconds = predicted_seconds(hidden, times.back());
      }
    }
  }
  const Cluster found = fit_links(hidden, times);
  for (const CollectiveTime& time : times) {
    EXPECT_NEAR(predicted_seconds(found, time) / time.seconds, 1, 0.05) << name_of(time.kind) << " " << time.bytes;
  }
}

TEST(FitLinks, FindsWhatTheTimesCameFrom) {
  expect_found(cluster_named("cpu").software.algorithms);
  expect_found({CollectiveAlgorithm::ring});
}

}  // namespace
}  // namespace partita
