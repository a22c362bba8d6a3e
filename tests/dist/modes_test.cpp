// Training under the modes that split operators: losses and states are those of one rank, and the collectives are the
// ones that a person would write.

#include <gtest/gtest.h>

#include "compiler/partition/collectives.h"
#include "compiler/partition/partition.h"
#include "ir/graph/annotate_nodes.h"
#include "ir/ops/registry.h"
#include "ir/sharding/strategy.h"
#include "support/job.h"
#include "support/ranks.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

Job job_of(const std::string& spec, const Shape& image, int64_t batch, const std::vector<std::string>& annotations) {
  Job job = model_job(spec, {.image = image, .batch = batch, .steps = 4});
  for (const std::string& annotation : annotations) annotate_nodes(job.forward, {parse_node_annotation(annotation)});
  return job;
}

JobResult run_under(Job job, int ranks, PlanOptions options) {
  job.mesh = make_mesh(job.forward, ranks, options);
  job.ranks = ranks;
  job.plan = [options, mesh = job.mesh](const Graph& graph) { return make_plan(graph, all_ops(), mesh, options); };
  return run_job(job);
}

void expect_same_as_one_rank(const Job& job, const std::vector<int>& ranks, const PlanOptions& options) {
  const JobResult oracle = interpret_job(job);
  for (int count : ranks) {
    if (!can_run(count)) continue;
    const JobResult result = run_under(job, count, options);
    for (size_t step = 0; step < oracle.losses.size(); ++step) {
      EXPECT_NEAR(result.losses[step], oracle.losses[step], 1e-9 * std::abs(oracle.losses[step])) << count << " ranks";
    }
    for (const auto& [name, value] : oracle.states) {
      EXPECT_LE(relative_error(result.states.at(name), value), 1e-8) << count << " ranks, state " << name;
    }
  }
}

const Shape kImage{1, 6, 5};
const std::string kModesLlama = "llama:layers=2,hidden=16,heads=4,kv_heads=2,seq=6,vocab=12";
const std::string kModesGpt = "gpt:layers=2,hidden=16,heads=4,seq=6,vocab=12,dropout=0.2";

TEST(Modes, SemiCutsTheBatchAroundAnnotations) {
  const Job job = job_of("mlp:hidden=12,dropout=0.2", kImage, 12, {"net/fc1/matmul=((2,1),(3,1))"});
  expect_same_as_one_rank(job, {6}, {.parallel = Parallel::semi});
  expect_same_as_one_rank(job, {6}, {.parallel = Parallel::semi, .dataset = DatasetSharding::full_batch()});
  expect_same_as_one_rank(job, {6}, {.parallel = Parallel::semi, .dataset = parse_dataset_sharding("((3,1,2,1),(2))")});
}

TEST(Modes, AutoSpreadsAnnotations) {
  expect_same_as_one_rank(job_of("mlp:hidden=12", kImage, 12, {"net/fc1/matmul=((1,1),(2,1))"}), {2, 4, 6, 8},
                          {.parallel = Parallel::automatic});
  expect_same_as_one_rank(job_of("mlp:hidden=12", kImage, 12, {}), {1, 3, 4, 8}, {.parallel = Parallel::automatic});
  expect_same_as_one_rank(job_of("lenet", {1, 28, 28}, 12, {"net/fc1/matmul=((1,1),(2,1))"}), {4, 6},
                          {.parallel = Parallel::automatic});
}

TEST(Modes, HybridTakesUnevenBatches) {
  expect_same_as_one_rank(job_of("mlp:hidden=12", kImage, 16, {}), {3, 6}, {.parallel = Parallel::hybrid});
}

TEST(Modes, AListPlacesTheRanks) {
  const std::string layout = "net/fc1/matmul=[dp=2,mp=3,ranks=(5,0,3,1,4,2)]((dp,mp),(None,mp))";
  const Job job = job_of("mlp:hidden=12", kImage, 12, {layout});
  expect_same_as_one_rank(job, {6}, {.parallel = Parallel::automatic});
  expect_same_as_one_rank(job, {6}, {.parallel = Parallel::semi});
  EXPECT_EQ(make_mesh(job.forward, 6, {.parallel = Parallel::automatic}).group(3, {1}), (std::vector<int>{5, 0, 3}));
}

TEST(Modes, UnevenSizesAreExact) {
  // 12 hidden units on 8 ranks, 10 classes on 4.
  expect_same_as_one_rank(
      job_of("mlp:hidden=12", kImage, 12, {"net/fc1/matmul=((1,1),(8,1))", "net/fc3/matmul=((2,1),(4,1))"}), {8},
      {.parallel = Parallel::automatic});
}

TEST(Modes, ImagesCutByHeightAndWidth) {
  if (!can_run(6)) GTEST_SKIP() << "too few processes";
  const std::string convolution = "*conv1/conv2d=((1,1,2,1),(1,1,1,1))", pool = "*pool1/max_pool=((1,1,2,3))";
  expect_same_as_one_rank(job_of("lenet", {1, 28, 28}, 6, {convolution, pool}), {6}, {.parallel = Parallel::semi});
  const std::string uneven = "*conv1/conv2d=((1,1,3,2),(1,1,1,1))";
  expect_same_as_one_rank(job_of("lenet", {1, 28, 28}, 6, {uneven}), {6}, {.parallel = Parallel::automatic});
  const Job job = job_of("lenet", {1, 28, 28}, 6, {uneven});
  const JobResult result = run_under(job, 6, {.parallel = Parallel::automatic});
  const auto& nodes = result.program.local().graph.nodes;
  EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(),
                          [](const Node& node) { return performs(node, Collective::halo_exchange); }));
  const LocalGraph& local = result.program.local();
  EXPECT_EQ(print(parse_local_graph(print(local, all_ops()), all_ops()), all_ops()), print(local, all_ops()));
}

TEST(Modes, FastKernelsUnderWindows) {
  Job job = model_job("lenet", {.dtype = DType::f32, .image = {1, 28, 28}, .batch = 6, .steps = 4});
  const JobResult one = run_under(job, 1, {});
  annotate_nodes(job.forward, {parse_node_annotation("*conv1/conv2d=((1,1,3,1),(1,1,1,1))")});
  annotate_nodes(job.forward, {parse_node_annotation("*conv2/conv2d=((1,1,3,1),(1,1,1,1))")});
  const JobResult three = run_under(job, 3, {.parallel = Parallel::semi});
  for (size_t step = 0; step < one.losses.size(); ++step) {
    EXPECT_NEAR(three.losses[step], one.losses[step], 1e-5 * std::abs(one.losses[step])) << step;
  }
}

TEST(Modes, NamedLayouts) {
  const std::string annotation = "net/fc1/matmul=[dp=2,mp=3]((dp,None),(mp,None))";
  expect_same_as_one_rank(job_of("mlp:hidden=12", kImage, 12, {annotation}), {6}, {.parallel = Parallel::semi});
  expect_same_as_one_rank(job_of("mlp:hidden=12", kImage, 12, {annotation}), {6}, {.parallel = Parallel::automatic});
}

TEST(Modes, HybridSplitsLayerwiseParameters) {
  Job job = job_of("mlp:hidden=48", kImage, 24, {});
  for (State& state : job.forward.states) {
    if (job.forward.values[state.entry].name == "fc2.weight") state.layerwise = 0;
  }
  expect_same_as_one_rank(job, {2, 3, 4, 6, 8}, {.parallel = Parallel::hybrid});
  const JobResult result = run_under(job, 4, {.parallel = Parallel::hybrid});
  const LocalGraph& local = result.program.local();
  for (const State& state : local.graph.states) {
    const std::string& name = local.graph.values[state.entry].name;
    const bool split = name == "fc2.weight" || name == "fc2.weight.momentum";
    EXPECT_EQ(is_cut(local.shardings[state.entry].dims), split) << name;
  }
  for (const Node& node : local.graph.nodes) {
    if (!is_collective(node) || performs(node, Collective::slice)) continue;
    EXPECT_NE(local.graph.type(node.inputs[0]).shape, (Shape{48, 48})) << node.name << ": the gradient is complete";
  }
}

/// How often each collective stands in the forward part of the network (not of its loss) on activations.
std::map<std::string, int> forward_collectives(const LocalGraph& local) {
  std::map<std::string, int> counts;
  for (const Node& node : local.graph.nodes) {
    if (!is_collective(node) || node.phase != Phase::forward || node.scope == "loss") continue;
    if (local.graph.type(node.outputs[0]).rank() >= 3) ++counts[node.op];
  }
  return counts;
}

TEST(Modes, OneAnnotationMakesAMegatronBlock) {
  for (const char* annotation : {"net/h/0/attn/q/matmul=((2,1,1),(2,1))", "net/h/0/mlp/fc/matmul=((2,1,1),(2,1))"}) {
    const Job job = job_of(kModesGpt, {}, 4, {annotation});
    expect_same_as_one_rank(job, {4},
                            {.parallel = Parallel::automatic, .dataset = parse_dataset_sharding("((2,1),(2,1))")});
    const JobResult result =
        run_under(job, 4, {.parallel = Parallel::automatic, .dataset = parse_dataset_sharding("((2,1),(2,1))")});
    EXPECT_EQ(forward_collectives(result.program.local()), (std::map<std::string, int>{{"all_reduce", 4}}))
        << annotation;
  }
}

// Four heads in eight parts with two of keys and values: each of these is on two ranks, or four.
TEST(Modes, LlamaUnderAnnotations) {
  const auto annotated = [](int parts) {
    return job_of(kModesLlama, {}, 4,
                  {fmt::format("net/h/*/attn/q/matmul=((2,1,1),({},1))", parts),
                   fmt::format("net/h/*/mlp/gate/matmul=((2,1,1),({},1))", parts),
                   "net/h/*/attn/attention=((2,1," + std::to_string(parts) + "),(2,1,2),(2,1,2))"});
  };
  for (const Parallel mode : {Parallel::semi, Parallel::automatic}) {
    expect_same_as_one_rank(annotated(2), {4}, {.parallel = mode});
    expect_same_as_one_rank(annotated(4), {8}, {.parallel = mode});
  }
}

TEST(Modes, OneAnnotationSplitsEveryBlockOfLlama) {
  const Job job = job_of(kModesLlama, {}, 4, {"net/h/0/attn/q/matmul=((2,1,1),(2,1))"});
  const PlanOptions options{.parallel = Parallel::automatic, .dataset = parse_dataset_sharding("((2,1),(2,1))")};
  expect_same_as_one_rank(job, {4}, options);
  EXPECT_EQ(forward_collectives(run_under(job, 4, options).program.local()),
            (std::map<std::string, int>{{"all_reduce", 4}}));
}

TEST(Modes, QuickstartIsThatOfTheTutorial) {
  if (!can_run(8)) GTEST_SKIP() << "too few processes";
  Job job = model_job("quickstart", {.image = {32}, .batch = 16, .steps = 20, .learning_rate = 0.2});
  const PlanOptions options{.parallel = Parallel::automatic};
  expect_same_as_one_rank(job, {8}, options);
  const JobResult result = run_under(job, 8, options);
  const Program& program = result.program;
  std::map<std::string, std::string> strategies;
  for (size_t n = 0; n < program.graph.nodes.size(); ++n) {
    const ShardingRule rule = rule_of(program.graph, program.graph.nodes[n], all_ops());
    strategies[program.graph.nodes[n].name] = print(strategy_of(rule, program.plan().cuts[n], program.plan().mesh));
  }
  EXPECT_EQ(strategies.at("matmul"), "((2, 4), (4, 1))");
  EXPECT_EQ(strategies.at("relu"), "((2, 4))");
  EXPECT_EQ(strategies.at("matmul2"), "((2, 4), (4, 1))");

  // The sum over k, which relu wants cut: scattered, or with partial values switched off reduced and sliced.
  const auto towards_relu = [&](bool partial_sums) {
    const LocalGraph local = partition(program.graph, all_ops(), program.plan(), {.partial_sums = partial_sums});
    std::vector<std::string> kinds;
    bool between = false;  // after matmul, before relu
    for (const Node& node : local.graph.nodes) {
      between = (between || node.name == "matmul") && node.name != "relu";
      if (!between || !is_collective(node) || node.phase != Phase::forward) continue;
      kinds.push_back(
          fmt::format("{} over ({})", node.op, fmt::join(local.mesh.group(5, axes_of(node, local.mesh)), ", ")));
      EXPECT_EQ(local.type(node.outputs[0], local.mesh.coordinates(5)).shape,
                (Shape{8, performs(node, Collective::all_reduce) ? 16 : 4}));
    }
    return kinds;
  };
  EXPECT_EQ(towards_relu(true), (std::vector<std::string>{"reduce_scatter over (4, 5, 6, 7)"}));
  EXPECT_EQ(towards_relu(false),
            (std::vector<std::string>{"all_reduce over (4, 5, 6, 7)", "slice_shard over (4, 5, 6, 7)"}));
}

}  // namespace
}  // namespace partita
