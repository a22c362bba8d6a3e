// Every optimizer gives the numbers of one rank under every plan.

#include <gtest/gtest.h>

#include "compiler/search/make_plan.h"
#include "ir/ops/registry.h"
#include "ir/optimizers/registry.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

const char* const kSmallGpt = "gpt:layers=2,hidden=8,heads=2,seq=6,vocab=12,dropout=0";

Job optimized_job(const std::string& spec, const std::string& optimizer, const Shape& image = {}) {
  Job job = model_job(spec, {.image = image, .batch = 24, .steps = 3});
  OptimizerOptions options = job.training.optimizer;
  job.training.optimizer = {.kind = OptimizerKind(find_optimizer("test", optimizer).name.c_str()),
                            .weight_decay = 0.1,
                            .clip_norm = options.clip_norm};
  return job;
}

class OptimizersOnRanks : public testing::TestWithParam<std::string> {
 protected:
  static void expect_same(const Job& job, const JobResult& oracle, const std::string& what) {
    if (HasFailure()) return;
    expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{}, {}", GetParam(), what));
  }
};

TEST_P(OptimizersOnRanks, KeepTheNumbersWithShardedStates) {
  for (Job job : {optimized_job("mlp:hidden=12", GetParam(), {1, 6, 5}), optimized_job(kSmallGpt, GetParam())}) {
    const JobResult oracle = interpret_job(job);
    for (const int ranks : {2, 3, 4, 8}) {
      if (!can_run(ranks)) continue;
      for (const int64_t level : {0, 1, 2, 3}) {
        job.ranks = ranks;
        job.micro_batches = level == 2 ? 3 : 1;
        job.zero = {.level = level, .threshold = 0};
        expect_same(job, oracle, fmt::format("{}, {} ranks, level {}", job.forward.name, ranks, level));
      }
    }
  }
}

TEST_P(OptimizersOnRanks, KeepTheNumbersOfFilters) {
  Job job = optimized_job("lenet", GetParam(), {1, 28, 28});
  const JobResult oracle = interpret_job(job);
  for (const int ranks : {1, 3, 4}) {
    if (!can_run(ranks)) continue;
    job.ranks = ranks;
    job.kernels = ranks == 3 ? KernelSet::reference : KernelSet::fast;
    job.zero = {.level = ranks == 4 ? 1 : 0, .threshold = 0};
    expect_same(job, oracle, fmt::format("LeNet, {} ranks", ranks));
  }
}

TEST_P(OptimizersOnRanks, KeepTheNumbersInStages) {
  Job job = optimized_job(kSmallGpt, GetParam());
  const JobResult oracle = interpret_job(job);
  for (const auto& [ranks, stages] : {std::pair(2, 2), std::pair(4, 2)}) {
    if (!can_run(ranks)) continue;
    for (const int64_t level : {0, 1, 3}) {
      job.ranks = ranks;
      job.micro_batches = 4;
      job.pipeline = {.stages = stages};
      job.zero = {.level = ranks == 2 ? 0 : level, .threshold = 0};
      expect_same(job, oracle, fmt::format("{} stages on {} ranks, level {}", stages, ranks, level));
    }
  }
}

TEST_P(OptimizersOnRanks, KeepTheNumbersWithTensorCuts) {
  Job job = optimized_job(kSmallGpt, GetParam());
  const JobResult oracle = interpret_job(job);
  for (const auto& [ranks, tensor] : {std::pair(2, 2), std::pair(4, 2), std::pair(8, 2)}) {
    if (!can_run(ranks)) continue;
    const PlanOptions options{.parallel = Parallel::automatic, .blocks = {.tensor = tensor}};
    job.ranks = ranks;
    job.mesh = make_mesh(job.forward, ranks, options);
    job.plan = [options, mesh = job.mesh](const Graph& graph) { return make_plan(graph, all_ops(), mesh, options); };
    for (const int64_t level : {0, 1, 2, 3}) {
      job.zero = {.level = level, .threshold = 0};
      expect_same(job, oracle, fmt::format("{} ranks, {} for blocks, level {}", ranks, tensor, level));
    }
  }
}

/// Returns the elements of the results of all-gathers in the update, by the number of dimensions.
std::map<int, int64_t> gathered_in_update(const Program& program) {
  std::map<int, int64_t> elements;
  for (const Node& node : program.local().graph.nodes) {
    if (node.phase != Phase::update || node.op != "all_gather") continue;
    const Type& type = program.local().graph.type(node.outputs[0]);
    elements[type.rank()] += type.elements();
  }
  return elements;
}

// The momentum is divided. A step gathers each hidden matrix once, before it is orthogonalized. Tables and vectors,
// which AdamW updates, are gathered after that up to level 2, and with their next use at level 3.
TEST(MuonOnRanks, GathersEachMatrixOnce) {
  const Job job = optimized_job(kSmallGpt, "muon");
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
  for (const int64_t level : {1, 2, 3}) {
    const Program program = compile(job.forward, all_ops(), device->catalog(),
                                    {.ranks = 2,
                                     .mesh = Mesh({{"data", 2}}),
                                     .plan = {.zero = {.level = level, .threshold = 0}},
                                     .training = job.training});
    int64_t matrices = 0, tables = 0, whole = 0, divided = 0;
    for (const State& state : program.graph.states) {
      const ValueInfo& value = program.graph.values[state.entry];
      if (value.name.ends_with(".momentum")) {
        matrices += value.type.elements();
        whole += value.type.bytes();
        divided += program.local().largest(program.local().graph.find_state(value.name)->entry).bytes();
      }
      if (value.name.ends_with(".exp_avg") && value.type.rank() == 2) tables += value.type.elements();
    }
    EXPECT_EQ(divided * 2, whole) << level;
    EXPECT_EQ(gathered_in_update(program)[2], matrices + (level < 3 ? tables : 0)) << level;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizersOnRanks, testing::ValuesIn(optimizer_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace partita
