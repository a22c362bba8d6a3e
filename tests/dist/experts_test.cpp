// Mixtures of experts: the same numbers however tokens and experts are cut, and the collectives that a person would
// write.

#include <gtest/gtest.h>

#include <map>

#include "compiler/partition/collectives.h"
#include "ir/graph/annotate_nodes.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

struct ExpertsCase {
  std::string spec;
  const char* about;
};

const std::string kExpertsSizes = "moe:layers=2,hidden=8,heads=2,seq=6,vocab=12,";

const std::vector<ExpertsCase>& experts_cases() {
  static const std::vector<ExpertsCase> all{
      {kExpertsSizes + "experts=4,top_k=2,capacity=0.75,shared=1,dropout=0.2", "some tokens have no slot"},
      {kExpertsSizes + "experts=4,top_k=1,capacity=1", "one choice"},
      {kExpertsSizes + "experts=3,top_k=3,capacity=0,shared=2", "no token without a slot"},
  };
  return all;
}

Job experts_job(const std::string& spec, int64_t batch = 24, int steps = 10) {
  return model_job(spec, {.batch = batch, .steps = steps, .learning_rate = 1e-2});
}

/// Experts over `ep` ranks that follow each other, their rows over `dp` groups of these: the order in which the batch
/// lies on the ranks, too, so that an exchange stays within a group.
std::vector<std::string> expert_cut(int dp, int ep) {
  const std::string layout = fmt::format("[dp={},ep={}]", dp, ep);
  return {"net/h/*/moe/experts/matmul=" + layout + "((ep,dp,None),(ep,None,None))",
          "net/h/*/moe/experts/gelu=" + layout + "((ep,dp,None))"};
}

/// Annotations that keep the tokens cut by sequences around the experts where propagation decides.
std::vector<std::string> token_cut(int ranks) {
  return {fmt::format("net/h/*/moe/dispatch=(({0},1,1),({0},1,1))", ranks),
          fmt::format("net/h/*/moe/combine=(({0},1,1),({0},1,1),({0},1,1))", ranks)};
}

void annotate_experts(Job& job, const std::vector<std::string>& annotations) {
  for (const std::string& text : annotations) annotate_nodes(job.forward, {parse_node_annotation(text)});
}

void plan_under(Job& job, int ranks, const PlanOptions& options) {
  job.ranks = ranks;
  job.micro_batches = options.micro_batches;
  job.zero = options.zero;
  job.mesh = make_mesh(job.forward, ranks, options);
  const PlanOptions in_space{.parallel = options.parallel};
  job.plan = [in_space, mesh = job.mesh](const Graph& graph) { return make_plan(graph, all_ops(), mesh, in_space); };
}

TEST(Experts, CutOverRanksGiveTheNumbersOfOne) {
  for (const auto& [spec, about] : experts_cases()) {
    const JobResult oracle = interpret_job(experts_job(spec));
    for (const auto& [ranks, ways] : {std::pair{2, 2}, {3, 3}, {4, 2}, {6, 3}, {8, 2}}) {
      if (!can_run(ranks)) continue;
      for (const Parallel mode : {Parallel::semi, Parallel::automatic}) {
        for (const int64_t count : {1, 3}) {
          Job job = experts_job(spec);
          annotate_experts(job, expert_cut(ranks / ways, ways));
          plan_under(job, ranks, {.parallel = mode, .micro_batches = count});
          expect_same_training(run_job(job), oracle, 1e-9,
                               fmt::format("{} ({}), {} ranks, {} for experts, {}, {} micro-batches", spec, about,
                                           ranks, ways, name_of(mode), count));
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(Experts, CutOverRanksWorkWithShardedOptimizersAndRecomputation) {
  const std::string& spec = experts_cases()[0].spec;
  const JobResult oracle = interpret_job(experts_job(spec));
  for (const int64_t level : {1, 2, 3}) {
    for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::full}) {
      if (!can_run(4)) continue;
      Job job = experts_job(spec);
      annotate_experts(job, expert_cut(2, 2));
      job.training.recompute = policy;
      plan_under(job, 4,
                 {.parallel = Parallel::semi, .micro_batches = level, .zero = {.level = level, .threshold = 0}});
      const std::string what = fmt::format("level {}, recompute {}", level, name_of(policy));
      const JobResult result = run_job(job);
      expect_same_training(result, oracle, 1e-9, what);
      if (HasFailure()) return;
    }
  }
}

// Where ranks do not divide the batch, the slots of experts are not cut.
TEST(Experts, TakeUnevenBatches) {
  const std::string& spec = experts_cases()[0].spec;
  const JobResult oracle = interpret_job(experts_job(spec, /*batch=*/10));
  for (const int ranks : {3, 4}) {
    if (!can_run(ranks)) continue;
    for (const Parallel mode : {Parallel::hybrid, Parallel::semi, Parallel::automatic}) {
      Job job = experts_job(spec, /*batch=*/10);
      annotate_experts(job, expert_cut(1, ranks));  // four experts on three ranks, too
      plan_under(job, ranks, {.parallel = mode});
      expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} ranks, {}", ranks, name_of(mode)));
    }
  }
}

// Which tokens have a slot is a matter of their sequence alone.
TEST(Experts, WhoHasASlotDependsOnNoCut) {
  const auto loss = [](const std::string& capacity) {
    return interpret_job(experts_job(kExpertsSizes + "experts=4,top_k=2,balance=0,capacity=" + capacity)).losses.back();
  };
  const double all = loss("0");
  EXPECT_NE(loss("0.75"), all);  // so that the cases above have tokens without a slot
  EXPECT_EQ(loss("2"), all);     // four experts, two choices: room for every token
  EXPECT_EQ(loss("100"), all);
}

/// Bytes that a rank holds before each all-to-all of a step.
std::map<Phase, std::vector<int64_t>> exchanged_bytes(const LocalGraph& local) {
  std::map<Phase, std::vector<int64_t>> bytes;
  for (const Node& node : local.graph.nodes) {
    if (performs(node, Collective::all_to_all)) bytes[node.phase].push_back(local.largest(node.inputs[0]).bytes());
  }
  return bytes;
}

/// The other collectives of the forward pass, but for those of scalars.
std::map<std::string, int> other_collectives(const LocalGraph& local) {
  std::map<std::string, int> counts;
  for (const Node& node : local.graph.nodes) {
    if (!is_collective(node) || node.phase != Phase::forward || performs(node, Collective::all_to_all)) continue;
    if (local.graph.type(node.inputs[0]).rank() == 0) continue;
    ++counts[node.op + " of " + local.graph.values[node.inputs[0]].name];
  }
  return counts;
}

/// How many collectives there are for the gradients of experts' weights.
int64_t reduced_experts(const LocalGraph& local, const Shape& fc, const Shape& proj) {
  return std::count_if(local.graph.nodes.begin(), local.graph.nodes.end(), [&](const Node& node) {
    const Shape& shape = local.graph.type(node.inputs.empty() ? node.outputs[0] : node.inputs[0]).shape;
    return is_collective(node) && node.phase == Phase::backward && (shape == fc || shape == proj);
  });
}

// Lepikhin et al., 2021, section 3.2: one exchange to the experts and one back, and as many for the gradients; each
// rank holds as many slots before and after: experts * capacity of each of its sequences.
TEST(Experts, ExchangeFourTimesALayer) {
  constexpr int64_t kLayers = 3, kHidden = 16, kSeq = 12, kExperts = 8, kBatch = 24;
  for (const int64_t micro_batches : {1, 3}) {
    for (const Parallel mode : {Parallel::semi, Parallel::automatic}) {
      for (const auto& [ranks, ways] : {std::pair{2, 2}, {4, 4}, {8, 8}, {8, 4}, {4, 2}}) {
        Job job = model_job(fmt::format("moe:layers={},hidden={},heads=2,seq={},vocab=12,experts={},top_k=2,shared=1",
                                        kLayers, kHidden, kSeq, kExperts),
                            {.batch = kBatch});
        annotate_experts(job, expert_cut(ranks / ways, ways));
        if (mode == Parallel::automatic) annotate_experts(job, token_cut(ranks));
        const PlanOptions options{.parallel = mode, .micro_batches = micro_batches};
        const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
        const Program program = compile(job.forward, all_ops(), device->catalog(),
                                        {.ranks = ranks,
                                         .mesh = make_mesh(job.forward, ranks, options),
                                         .plan = options,
                                         .training = job.training});
        const int64_t capacity = 4;  // 1.25 * 12 * 2 / 8
        const int64_t slots = kBatch / micro_batches / ranks * kExperts * capacity;
        const std::vector<int64_t> expected(2 * kLayers, slots * kHidden * static_cast<int64_t>(sizeof(double)));
        const auto bytes = exchanged_bytes(program.local());
        const std::string what = fmt::format("{} ranks, {} for experts, {}", ranks, ways, name_of(mode));
        ASSERT_TRUE(bytes.contains(Phase::forward) && bytes.contains(Phase::backward)) << what;
        EXPECT_EQ(bytes.at(Phase::forward), expected) << what;
        EXPECT_EQ(bytes.at(Phase::backward), expected) << what;
        EXPECT_EQ(other_collectives(program.local()), (std::map<std::string, int>{})) << what;
        const Shape fc{kExperts, kHidden, 4 * kHidden}, proj{kExperts, 4 * kHidden, kHidden};
        // The gradients of weights that no ranks share are complete where they are used.
        const int64_t per_step = ways == ranks ? 0 : 2 * kLayers;
        const int64_t accumulated = micro_batches > 1 ? 2 * kLayers : 0;
        EXPECT_EQ(reduced_experts(program.local(), fc, proj), per_step + accumulated) << what;
        // Their weights and the states of the optimizer are cut like them.
        for (const State& state : program.local().graph.states) {
          const std::string& name = program.local().graph.values[state.entry].name;
          if (name.find("experts.") == std::string::npos) continue;
          EXPECT_EQ(program.local().type(state.entry, program.local().mesh.coordinates(0)).shape[0], kExperts / ways)
              << name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita
