// A graph of thousands of parameters goes through every stage, and is read back from its texts.

#include <gtest/gtest.h>

#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/search/make_plan.h"
#include "ir/graph/builder.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

/// x + relu(x w + b), over and over, and the updates of all w and b.
Graph training_chain(int blocks) {
  Builder builder(all_ops(), "chain");
  Value x = builder.input("x", {DType::f32, {16, 8}}, /*batch_dim=*/0);
  for (int block = 0; block < blocks; ++block) {
    const Value weight = builder.state(fmt::format("w{}", block), {DType::f32, {8, 8}}, {});
    const Value bias = builder.state(fmt::format("b{}", block), {DType::f32, {8}}, {});
    const Value sum = builder.apply("add", {builder.apply("matmul", {x, weight}), bias});
    x = builder.apply("add", {x, builder.apply("relu", {sum})});
  }
  builder.output("loss", builder.apply("reduce", {x}, ReduceAttrs{.axes = {0, 1}}));
  TrainingOptions options;
  options.optimizer.clip_norm = 1;
  return make_training_graph(builder.take(), all_ops(), options).graph;
}

TEST(LargeGraph, OfTwentyThousandNodesPassesEveryStage) {
  const OpSet& ops = all_ops();
  const Graph graph = training_chain(1000);
  ASSERT_GE(graph.nodes.size(), 20000U);
  const std::string graph_text = print(graph);
  EXPECT_EQ(print(parse_graph(graph_text, ops)), graph_text);
  const PlanOptions options{.parallel = Parallel::automatic};
  const Plan plan = make_plan(graph, ops, make_mesh(graph, 8, options), options);
  const std::string plan_text = print(plan, graph, ops);
  EXPECT_EQ(print(parse_plan(plan_text, graph, ops), graph, ops), plan_text);
  const LocalGraph local = partition(graph, ops, plan);
  const std::string local_text = print(local, ops);
  EXPECT_EQ(print(parse_local_graph(local_text, ops), ops), local_text);
  const auto device = make_cpu_device(ops, 1);
  // Many buckets: gradients of 288 bytes a block, 1 KiB a message.
  const Schedule schedule = make_schedule(local, ops, device->catalog(), {.bucket_bytes = 1024});
  EXPECT_GT(schedule.buckets.size(), 250U);
  const std::string text = print(schedule, local);
  EXPECT_EQ(print(parse_schedule(text, local), local), text);
}

TEST(LargeGraph, BucketsInFlightAtOnceLieApart) {
  const OpSet& ops = all_ops();
  const Graph graph = training_chain(6);
  const LocalGraph local = partition(graph, ops, make_plan(graph, ops, Mesh({{"data", 2}}), {}));
  const auto device = make_cpu_device(ops, 1);
  Schedule schedule = make_schedule(local, ops, device->catalog(), {.bucket_bytes = 512});
  ASSERT_GE(schedule.buckets.size(), 3U);
  EXPECT_NO_THROW(verify(schedule, local));
  Bucket &first = schedule.buckets[0], &second = schedule.buckets[1];
  const int64_t end = std::max(first.offset + first.bytes, second.offset + second.bytes);
  second.offset = std::min(first.offset, second.offset);
  second.bytes = end - second.offset;
  try {
    verify(schedule, local);
    ADD_FAILURE() << "accepted";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("bucket 1 is reduced in memory of bucket 0, which is in flight"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace partita
