// Recomputed results are those of the forward pass, to the bit, dropout included.

#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/network/layers/layers.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

struct RecomputeCase {
  std::string spec;
  Shape image;
  Recompute policy;
};

const std::vector<RecomputeCase>& recompute_cases() {
  static const std::vector<RecomputeCase> all{
      {"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2", {}, Recompute::selective},
      {"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2", {}, Recompute::full},
      {"moe:layers=2,hidden=8,heads=4,seq=6,vocab=12,experts=4,capacity=0.75,shared=1,dropout=0.2",
       {},
       Recompute::selective},
      {"moe:layers=2,hidden=8,heads=4,seq=6,vocab=12,experts=4,capacity=0.75,shared=1,dropout=0.2",
       {},
       Recompute::full},
      {"llama:layers=2,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12", {}, Recompute::selective},
      {"llama:layers=2,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12", {}, Recompute::full},
      {"resnet18:width=4,size=8", {3, 8, 8}, Recompute::full},
  };
  return all;
}

Job recompute_job(const RecomputeCase& one) {
  return model_job(one.spec, {.image = one.image, .batch = 24, .steps = 4});
}

TEST(RecomputeInBackward, KeepsTheBits) {
  for (const RecomputeCase& one : recompute_cases()) {
    Job job = recompute_job(one);
    const JobResult kept = run_job(job);
    job.training.recompute = one.policy;
    const JobResult again = run_job(job);
    EXPECT_GT(again.program.graph.nodes.size(), kept.program.graph.nodes.size()) << one.spec;
    expect_same_training(again, kept, 0, one.spec);
  }
}

TEST(RecomputeInBackward, WorksWithCutsAndMicroBatches) {
  for (const RecomputeCase& one : recompute_cases()) {
    const bool has_statistics_groups = one.spec.starts_with("resnet");
    Job job = recompute_job(one);
    const JobResult oracle = interpret_job(job);
    for (const int ranks : {2, 3, 4}) {
      if (!can_run(ranks)) continue;
      job.training.recompute = one.policy;
      job.ranks = ranks;
      job.micro_batches = has_statistics_groups ? 1 : 2;
      job.zero = {.level = 3, .threshold = 0};
      expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} on {} ranks", one.spec, ranks));
    }
  }
}

TEST(RecomputeInBackward, TakesLessMemory) {
  const Job job = model_job("gpt:layers=6,hidden=32,heads=4,seq=64,vocab=32", {.batch = 16});
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::fast);
  const auto arena = [&](Recompute policy) {
    TrainingOptions training = job.training;
    training.recompute = policy;
    return compile(job.forward, all_ops(), device->catalog(), {.training = training}).schedule().arena_bytes;
  };
  const int64_t all = arena(Recompute::none);
  EXPECT_LT(arena(Recompute::selective), all);
  EXPECT_LT(arena(Recompute::full), all * 60 / 100);
}

TEST(RecomputeInBackward, IsRefusedWhereThereIsNothing) {
  const auto refusal = [](const std::string& spec, Recompute policy) -> std::string {
    try {
      Graph forward = model_job(spec, {.image = {1, 6, 5}}).forward;
      choose_recomputed(forward, policy, all_ops());
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("mlp:hidden=12", Recompute::full),
            "[--recompute] nothing to recompute in graph mlp, got full, expected none: it has no blocks in numbered "
            "scopes");
  EXPECT_EQ(refusal("mlp:hidden=12", Recompute::selective),
            "[--recompute] nothing to recompute in graph mlp, got selective, expected none: it has no attention");
}

/// fc1, relu and fc2, of which some are recomputed.
Graph graph_of_layers(bool all, bool relu) {
  const LayerPtr activation = relu_layer();
  activation->recompute(relu);
  const LayerPtr layers = sequential({dense(7), activation, dense(3)});
  layers->recompute(all);
  Builder builder(all_ops(), "layers");
  Context context(builder, {.dtype = DType::f64});
  const Value x = builder.input("x", {DType::f64, {4, 5}}, 0);
  const Value y = context.call_network(*layers, x);
  builder.scope.clear();
  builder.output("loss", builder.apply("reduce", {builder.apply("square", {y})}, ReduceAttrs{.axes = {0, 1}}));
  return builder.take();
}

int recomputed_count(const Graph& graph, const std::string& op) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op == op; }));
}

// A layer of one node has its result recomputed. A layer of several keeps the results that others use.
TEST(RecomputeInBackward, OfChosenLayers) {
  const auto training = [](bool all, bool relu) {
    return make_training_graph(graph_of_layers(all, relu), all_ops(), {}).graph;
  };
  EXPECT_EQ(recomputed_count(training(false, false), "relu"), 1);
  EXPECT_EQ(recomputed_count(training(false, true), "relu"), 2);
  EXPECT_EQ(recomputed_count(training(true, false), "relu"), 2);
  const Graph whole = training(true, false);
  EXPECT_EQ(recomputed_count(whole, "matmul"), recomputed_count(training(false, false), "matmul") + 1);  // fc1, not fc2
  const std::string text = print(whole);
  EXPECT_NE(text.find(" recompute=net"), std::string::npos);
  EXPECT_EQ(print(parse_graph(text, all_ops())), text);
  try {
    graph_of_layers(true, true);
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what())
                  .find("[recompute] a recomputed layer contains another one, got net/1, expected only net"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace partita
