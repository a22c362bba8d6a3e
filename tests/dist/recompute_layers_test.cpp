// A training that recomputes some of its layers, as a plan says: the numbers of one rank, exactly these layers, and
// less memory by what was predicted.

#include <gtest/gtest.h>

#include <set>

#include "compiler/search/make_plan.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "planner/cluster/presets.h"
#include "planner/pricing/search/job_of.h"
#include "support/job.h"
#include "support/ranks.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

/// A network under configurations, priced and as jobs.
class RecomputedNetwork {
 public:
  RecomputedNetwork(const std::string& spec, int64_t batch, DType dtype)
      : model_(make_model(spec)),
        batch_(batch),
        dtype_(dtype),
        job_(model_job(spec, {.dtype = dtype, .batch = batch, .steps = 4, .learning_rate = 1e-3})),
        cluster_(resized(cluster_named("cpu"), 8)),
        device_(make_cpu_device(all_ops(), 1, job_.kernels)),
        costs_(job_.forward, all_ops(), cluster_,
               {.training = {.optimizer = job_.training.optimizer}, .precision = Precision::of(dtype)}) {}

  const Job& plain() const { return job_; }
  Price price(const std::string& text) { return costs_.price(parse_configuration(text)); }

  /// Settings of the job that a plan of the configuration runs.
  JobConfig config(const std::string& text) {
    const Configuration given = parse_configuration(text);
    const Configuration whole = completed(given, given.ranks(), batch_);
    JobConfig recipe = model_.recipe;
    recipe.training.batch = batch_;
    return job_of(recipe, whole, costs_.price(whole), costs_.folded(), job_.forward, all_ops());
  }

  Job job(const std::string& text) {
    const JobConfig planned = config(text);
    const PlanOptions& options = planned.plan.options;
    Job job = job_;
    job.training.recompute = planned.plan.recompute;
    annotate_recomputed(job.forward, all_ops(), planned.plan.recompute_layers);
    job.ranks = planned.ranks.count;
    job.micro_batches = options.micro_batches;
    job.zero = options.zero;
    job.pipeline = options.pipeline;
    job.stage_plan = [options](const Graph& graph, int64_t ranks) {
      return make_plan(graph, all_ops(), make_mesh(graph, ranks, options), options);
    };
    return job;
  }

 private:
  const ZooModel model_;
  const int64_t batch_;
  const DType dtype_;
  const Job job_;
  const Cluster cluster_;
  const std::unique_ptr<Device> device_;
  NetworkCosts costs_;
};

/// Names of the blocks that are recomputed as a whole, and of those whose attention alone is recomputed.
struct RecomputedBlocks {
  std::set<std::string> full, selective;
  bool operator==(const RecomputedBlocks&) const = default;
};

RecomputedBlocks blocks_of(const Graph& training) {
  RecomputedBlocks blocks;
  for (const Node& node : training.nodes) {
    if (node.phase != Phase::backward || node.recompute.empty()) continue;
    const std::string block = node.scope.substr(0, node.scope.find('/', std::string("net/h/").size()));
    (node.recompute == block ? blocks.full : blocks.selective).insert(block);
  }
  return blocks;
}

struct LayersCase {
  const char* configuration;
  RecomputedBlocks blocks;
};

const std::vector<LayersCase>& layers_cases() {
  static const std::vector<LayersCase> all{
      {"data=1,micro_batch=12,recompute=full:2+selective:3",
       {{"net/h/0", "net/h/1"}, {"net/h/2", "net/h/3", "net/h/4"}}},
      {"data=2,micro_batch=3,zero=3,recompute=full:5", {{"net/h/0", "net/h/1", "net/h/2", "net/h/3", "net/h/4"}, {}}},
      {"data=3,micro_batch=4,zero=1,recompute=selective:1", {{}, {"net/h/0"}}},
      {"data=2,tensor=2,micro_batch=2,recompute=full:1", {{"net/h/0"}, {}}},
      {"pipeline=2,micro_batch=3,recompute=full:2/1", {{"net/h/0", "net/h/1", "net/h/3"}, {}}},
      {"pipeline=3,micro_batch=2,recompute=full:2/1/0+selective:0/1/0",
       {{"net/h/0", "net/h/1", "net/h/2"}, {"net/h/3"}}},
      {"data=3,pipeline=2,micro_batch=2,zero=2,recompute=full:1/0+selective:0/3",
       {{"net/h/0"}, {"net/h/3", "net/h/4", "net/h/5"}}},
      {"data=2,tensor=2,pipeline=2,micro_batch=2,sequence_parallel=true,recompute=full:2/1",
       {{"net/h/0", "net/h/1", "net/h/3"}, {}}},
      // The stages of a group in their order: 0 and 2, 1 and 3 of six blocks.
      {"pipeline=2,interleave=3,micro_batch=2,recompute=full:2/1", {{"net/h/0", "net/h/1", "net/h/2"}, {}}},
      {"pipeline=2,micro_batch=3,order=zero_bubble,recompute=full:1/2", {{"net/h/0", "net/h/3", "net/h/4"}, {}}},
  };
  return all;
}

TEST(RecomputedLayers, KeepTheNumbersOfOneRank) {
  for (const char* spec : {"gpt:layers=6,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2",
                           "llama:layers=6,hidden=8,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12"}) {
    RecomputedNetwork network(spec, 12, DType::f64);
    const JobResult oracle = interpret_job(network.plain());
    for (const LayersCase& one : layers_cases()) {
      SCOPED_TRACE(fmt::format("{} {}", spec, one.configuration));
      const Job job = network.job(one.configuration);
      if (!can_run(job.ranks)) continue;
      const JobResult result = run_job(job);
      expect_same_training(result, oracle, 1e-9, one.configuration);
      EXPECT_EQ(blocks_of(result.program.graph), one.blocks);
    }
  }
}

/// Bytes of the largest group's arenas.
double arena_of(const Job& job, int64_t groups) {
  std::vector<double> bytes(static_cast<size_t>(groups), 0);
  Job inner = job;
  inner.training.output_gradients = false;
  const Program program = compile_job(inner);
  for (size_t stage = 0; stage < program.stages.size(); ++stage) {
    bytes[stage % bytes.size()] += static_cast<double>(program.stages[stage].schedule.arena_bytes);
  }
  return *std::max_element(bytes.begin(), bytes.end());
}

TEST(RecomputedLayers, TakeThePredictedMemory) {
  RecomputedNetwork network("gpt:layers=8,hidden=64,heads=4,seq=64", 24, DType::f32);
  struct MemoryCase {
    const char* shape;
    int64_t groups;
    std::vector<const char*> recomputed;
    double near;
  };
  for (const MemoryCase& one : {MemoryCase{"micro_batch=2", 1, {"full:1", "full:3", "full:2+selective:4"}, 0.05},
                                MemoryCase{"micro_batch=24", 1, {"full:1", "full:3", "full:2+selective:4"}, 0.05},
                                MemoryCase{"pipeline=2,micro_batch=2", 2, {"full:1", "full:3/1"}, 0.07}}) {
    const double kept = arena_of(network.job(one.shape), one.groups),
                 predicted = network.price(one.shape).peak_memory();
    for (const std::string recomputed : one.recomputed) {
      const std::string text = fmt::format("{},recompute={}", one.shape, recomputed);
      const double arena = arena_of(network.job(text), one.groups), own = network.price(text).peak_memory();
      EXPECT_LT(arena, 0.97 * kept) << text;
      EXPECT_LT(own, 0.97 * predicted) << text;
      EXPECT_NEAR(own / arena, 1, one.near) << text << " " << own << " and " << arena;
    }
  }
}

}  // namespace
}  // namespace partita
