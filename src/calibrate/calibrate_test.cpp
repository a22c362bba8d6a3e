#include "calibrate/calibrate.h"

#include <gtest/gtest.h>

#include "planner/cluster/toml.h"

namespace partita {
namespace {

/// Checks everything but the durations, which are too short to be accurate.
TEST(Calibrate, WhatItWritesReadsBack) {
  std::vector<std::string> said;
  const CalibrationOptions options{.name = "test",
                                   .cores = 2,
                                   .seconds = 0.01,
                                   .rounds = 2,
                                   .cases = {{"mlp:layers=1,hidden=32", 8},
                                             {"lenet", 4},
                                             {.model = "mlp:layers=2,hidden=32", .batch = 8, .ranks = 2}},
                                   .core_cases = {{"mlp:layers=1,hidden=64", 16}},
                                   .rank_cases = {{.model = "mlp:layers=2,hidden=32", .batch = 8, .ranks = 2}},
                                   .progress = [&](const std::string& line) { said.push_back(line); }};
  const Measurements measured = measure_machine(options);
  const Cluster cluster = fit_machine(measured, options);
  verify(cluster);
  EXPECT_EQ(parse_cluster(print(cluster), "test.toml"), cluster);
  EXPECT_EQ(cluster.ranks(), 8);
  EXPECT_EQ(cluster.cores, 2);
  EXPECT_GT(said.size(), 5U);
  // Every machine that runs this test copies and computes at these rates.
  EXPECT_GT(cluster.device.peak.at(DType::f32), 1e8);
  EXPECT_GT(cluster.device.memory_bandwidth, 1e8);
  EXPECT_FALSE(cluster.device.measured.at("matmul").empty());
  EXPECT_EQ(cluster.thread_shares.size(), 1U);
  for (const CollectiveTime& time : measured.collectives) EXPECT_GT(time.seconds, 0);
  for (const TrainingTime& training : measured.trainings) EXPECT_GT(training.nodes.size(), 10U);
  EXPECT_NE(describe_fit(measured, options, cluster).find("72 collectives"), std::string::npos);
}

TEST(Calibrate, TheWorstDisturbanceCounts) {
  Measurements measured;
  EXPECT_EQ(measured.disturbance(), 1);
  measured.trainings = {{{}, 3, 1.5}, {{}, 2, 1}};
  EXPECT_EQ(measured.disturbance(), 1.5);
}

// A single disturbed round does not affect the medians.
TEST(Calibrate, RoundsAreOneByTheirMedians) {
  const auto round = [](double number) {
    return Measurements{.copy_bandwidth = number,
                        .peak = {{DType::f32, 2 * number}},
                        .thread_gains = {{number, 3 * number}},
                        .busy_share = number,
                        .overhead = number,
                        .trainings = {{{{.op = "relu", .work = {}, .seconds = number}}, 4 * number, 1}},
                        .steps_of_ranks = {5 * number},
                        .collectives = {{Collective::all_reduce, 2, 8, 6 * number}}};
  };
  const Measurements all = median({round(2), round(900), round(1), round(3), round(0)});
  EXPECT_EQ(all.copy_bandwidth, 2);
  EXPECT_EQ(all.peak.at(DType::f32), 4);
  EXPECT_EQ(all.thread_gains[0].share, 6);
  EXPECT_EQ(all.busy_share, 2);
  EXPECT_EQ(all.overhead, 2);
  EXPECT_EQ(all.trainings[0].nodes[0].seconds, 2);
  EXPECT_EQ(all.trainings[0].step, 8);
  EXPECT_EQ(all.steps_of_ranks[0], 10);
  EXPECT_EQ(all.collectives[0].seconds, 12);
  EXPECT_EQ(all.collectives[0].bytes, 8);
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
  // Two layers forward and for the weights, and one for the second layer's input: 2 x rows x in x out each.
  EXPECT_NEAR(products, 2.0 * 8 * (2 * 784 * 32 + 3 * 32 * 10), 20);
  EXPECT_GT(seconds, 0);
  EXPECT_NEAR(seconds, time.step, 1e-3 * time.step);
  EXPECT_GE(time.disturbance, 1);
}

// Two ranks split a network. Together they compute less than twice what one rank does with half of the rows or columns.
TEST(TrainingTimes, OfShards) {
  const TrainingCase training{.model = "mlp:layers=2,hidden=64", .batch = 16, .ranks = 2};
  const TrainingTime time = time_training(training, 0);
  EXPECT_GT(time.nodes.size(), 10U);
  double products = 0;
  for (const NodeTime& node : time.nodes) products += node.work.kind == WorkKind::product ? node.work.flops : 0;
  const double whole = 2.0 * 16 * (2 * 784 * 64 + 3 * 64 * 64 + 3 * 64 * 10);
  EXPECT_LT(products, 0.7 * whole);
  EXPECT_GT(time_whole_step(training, 5), 0);
}

}  // namespace
}  // namespace partita
