#include "calibrate/calibrate.h"

#include <gtest/gtest.h>

#include "cluster/toml.h"

namespace partita {
namespace {

/// Everything but the length of the measurements, which are too short to be good.
TEST(Calibrate, WhatItWritesReadsBack) {
  std::vector<std::string> said;
  const CalibrationOptions options{
      .name = "test", .cores = 2, .seconds = 0.01, .progress = [&](const std::string& line) { said.push_back(line); }};
  const Measurements measured = measure_machine(options);
  const Cluster cluster = fit_machine(measured, options);
  verify(cluster);
  EXPECT_EQ(parse_cluster(print(cluster), "test.toml"), cluster);
  EXPECT_EQ(cluster.ranks(), 8);
  EXPECT_EQ(cluster.cores, 2);
  EXPECT_GT(said.size(), 5U);
  // Anything that runs this test computes and copies at these rates.
  EXPECT_GT(cluster.device.peak.at(DType::f32), 1e8);
  EXPECT_GT(cluster.device.memory_bandwidth, 1e8);
  EXPECT_GT(cluster.device.peak.at(DType::f32), cluster.device.peak.at(DType::f64));
  for (const CollectiveTime& time : measured.collectives) EXPECT_GT(time.seconds, 0);
  for (const TrainingTime& training : measured.trainings) EXPECT_GT(training.nodes.size(), 10U);
  EXPECT_NE(describe_fit(measured, options, cluster).find("60 collectives"), std::string::npos);
}

TEST(Calibrate, TheWorstDisturbanceCounts) {
  Measurements measured;
  EXPECT_EQ(measured.disturbance(), 1);
  measured.trainings = {{{}, 3, 1.5}, {{}, 2, 1}};
  EXPECT_EQ(measured.disturbance(), 1.5);
}

TEST(TrainingTimes, OfEveryNode) {
  const TrainingTime time = time_training({.model = "mlp:layers=1,hidden=32", .batch = 8}, 0);
  double seconds = 0, products = 0;
  for (const NodeTime& node : time.nodes) {
    EXPECT_GT(node.seconds, 0) << node.op;
    EXPECT_EQ(node.work.op, node.op);
    if (node.work.kind == WorkKind::product) products += node.work.flops;
    seconds += node.seconds;
  }
  // Two layers, forward and for weights, and the second one's input: each 2 x rows x in x out.
  EXPECT_NEAR(products, 2.0 * 8 * (2 * 784 * 32 + 3 * 32 * 10), 20);
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, time.step * 1.0001);
  EXPECT_GE(time.disturbance, 1);
}

}  // namespace
}  // namespace partita
