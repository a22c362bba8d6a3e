#include "planner/cluster/compute_seconds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "planner/cluster/presets.h"

namespace partita {
namespace {

DeviceSpec simple() {
  return {.name = "simple",
          .peak = {{DType::f32, 1e12}, {DType::bf16, 4e12}},
          .memory = 1e9,
          .memory_bandwidth = 1e11,
          .launch_overhead = 1e-6,
          .efficiency = {{WorkKind::product, {{{1e6, 0.1}, {1e8, 0.9}}, {}, 10, 20, 30}},
                         {WorkKind::copy, {{}, {{1e4, 4}, {1e6, 1}}}}}};
}

// Measured calls of an op decide its time; the nearest have the largest weights.
TEST(ComputeSeconds, BetweenMeasuredCalls) {
  DeviceSpec device = simple();
  device.measured["relu"] = {{.flops = 1e4, .bytes = 8e4, .share = 4}, {.flops = 1e6, .bytes = 8e6, .share = 1}};
  device.measured["matmul"] = {{.flops = 2e6, .bytes = 1.2e5, .rows = 100, .columns = 100, .depth = 100, .share = 0.5}};
  const auto relu = [&](double elements) {
    return seconds_of({.kind = WorkKind::pointwise, .flops = elements, .bytes = 8 * elements, .op = "relu"}, device);
  };
  EXPECT_NEAR(relu(1e4), 8e4 / 4e11 + 1e-6, 1e-10);
  EXPECT_NEAR(relu(1e6), 8e6 / 1e11 + 1e-6, 1e-8);
  EXPECT_NEAR(relu(1e5), 8e5 / 2e11 + 1e-6, 1e-8);  // equally far from both: the mean of the logarithms
  for (double elements = 10; elements < 1e9; elements *= 3) EXPECT_LT(relu(elements), relu(3 * elements));
  const Work product{.kind = WorkKind::product,
                     .flops = 2e9,
                     .bytes = 1.2e7,
                     .rows = 1e3,
                     .columns = 1e3,
                     .depth = 1e3,
                     .op = "matmul"};
  EXPECT_NEAR(seconds_of(product, device), 2e9 / 0.5e12 + 1e-6, 1e-9);
  Work other = product;
  other.op = "matmul_rows";  // not measured: priced by its kind
  EXPECT_NE(seconds_of(other, device), seconds_of(product, device));
}

TEST(ComputeSeconds, ByHand) {
  const DeviceSpec device = simple();
  EXPECT_DOUBLE_EQ(seconds_of({.kind = WorkKind::pointwise, .flops = 1e6, .bytes = 8e6}, device), 8e-5 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds_of({.kind = WorkKind::pointwise, .flops = 1e9, .bytes = 8e6}, device), 1e-3 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds_of({.kind = WorkKind::copy, .bytes = 1e4}, device), 1e4 / 4e11 + 1e-6);
  EXPECT_NEAR(seconds_of({.kind = WorkKind::copy, .bytes = 1e5}, device), 1e5 / 2e11 + 1e-6, 1e-12);
  EXPECT_DOUBLE_EQ(
      seconds_of({.kind = WorkKind::product, .flops = 1e9, .rows = 10, .columns = 20, .depth = 30}, device),
      1e9 / 9e11 * 8 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds_of({.kind = WorkKind::product, .dtype = DType::f16, .flops = 1e9}, device),
                   1e9 / 3.6e12 + 1e-6);
  EXPECT_EQ(seconds_of({}, device), 0);
}

TEST(ComputeSeconds, OfManyColumns) {
  DeviceSpec device = simple();
  Work work{.kind = WorkKind::product, .flops = 1e9, .rows = 1e3, .columns = 1e3, .depth = 500};
  const double before = seconds_of(work, device);
  device.efficiency.at(WorkKind::product).columns = {{1e3, 1}, {1e4, 0.25}};
  EXPECT_EQ(seconds_of(work, device), before);
  work.columns = 1e5;
  const double wide = seconds_of(work, device) - 1e-6;
  work.repeated = true;
  EXPECT_NEAR(wide, 4 * (seconds_of(work, device) - 1e-6), 1e-12);
  work.repeated = false;
  device.efficiency.at(WorkKind::product).columns.clear();
  EXPECT_NEAR(wide, 4 * (seconds_of(work, device) - 1e-6), 1e-12);
}

TEST(ComputeSeconds, OfSingleOps) {
  DeviceSpec device = simple();
  device.op_factor = {{"slow", 3}};
  device.op_efficiency = {{"own", {{{1e6, 0.5}}, {}, 0, 0, 0}}};
  const Work work{.kind = WorkKind::pointwise, .flops = 1e9};
  const auto seconds = [&](const std::string& op) {
    Work of_op = work;
    of_op.op = op;
    return seconds_of(of_op, device);
  };
  EXPECT_DOUBLE_EQ(seconds("slow"), 3e-3 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds("own"), 2e-3 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds("other"), 1e-3 + 1e-6);
}

TEST(ComputeSeconds, PeakOfTypesThatAreNotThere) {
  DeviceSpec device = simple();
  EXPECT_EQ(peak_of(device, DType::f16), 4e12);
  EXPECT_EQ(peak_of(device, DType::i32), 1e12);
  EXPECT_EQ(peak_of(device, DType::f64), 1e12);
  device.peak = {{DType::f64, 5e11}};
  for (const DType dtype : kAllDTypes) EXPECT_EQ(peak_of(device, dtype), 5e11);
}

TEST(ComputeSeconds, MoreWorkAndSlowerDevicesNeverTakeLessTime) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> exponent(0, 12), factor(1, 3);
  for (const std::string& name : preset_names()) {
    const DeviceSpec device = cluster_named(name).device;
    for (int trial = 0; trial < 5000; ++trial) {
      Work work{.kind = static_cast<WorkKind>(random() % 8),
                .dtype = kAllDTypes[random() % std::size(kAllDTypes)],
                .flops = std::pow(10, exponent(random)),
                .bytes = std::pow(10, exponent(random)),
                .rows = std::round(std::pow(10, exponent(random) / 3)),
                .columns = std::round(std::pow(10, exponent(random) / 3)),
                .depth = std::round(std::pow(10, exponent(random) / 3))};
      const double before = seconds_of(work, device);
      DeviceSpec slower = device;
      slower.memory_bandwidth /= factor(random), slower.launch_overhead *= factor(random);
      for (auto& [dtype, peak] : slower.peak) peak /= factor(random);
      EXPECT_GE(seconds_of(work, slower), before * (1 - 1e-12));
      Work more = work;
      more.bytes *= factor(random);
      EXPECT_GE(seconds_of(more, device), before * (1 - 1e-12));
      const double times = factor(random);
      more.flops *= times, more.rows *= times;
      EXPECT_GE(seconds_of(more, device), before * (1 - 1e-12)) << name << " " << name_of(work.kind);
    }
  }
}

}  // namespace
}  // namespace partita
