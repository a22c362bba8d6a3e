// The small members of the zoo are one rank's training under every option that applies to them: on 2, 3 and 4 ranks, in
// f64.

#include <gtest/gtest.h>

#include <map>

#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

struct SmallModel {
  std::string spec;
  Shape image{};  // for a model of images
  bool has_blocks = false;
  bool has_statistics_groups = false;
  int steps = 10;
};

const std::vector<SmallModel>& small_models() {
  static const std::vector<SmallModel> list{
      {"mlp:hidden=12", {1, 6, 5}},
      {"resnet50:width=2,size=16", {3, 16, 16}, false, true},
      {"wide_resnet:width=2,size=16,factor=2", {3, 16, 16}, false, true},
      // The last norms are over one pixel of each row: rounding grows by an order of magnitude with each step.
      {"inception:width=2,size=75", {3, 75, 75}, false, true, /*steps=*/2},
      {"vit:layers=2,hidden=8,heads=4,size=8,patch=4,dropout=0.2", {3, 8, 8}, true},
      {"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2", {}, true},
      {"llama:layers=2,hidden=8,heads=4,kv_heads=2,seq=6,vocab=12", {}, true},
      {"llama:layers=2,hidden=8,heads=4,kv_heads=2,head_width=4,seq=6,vocab=12,bias=1,head_norm=1,rotary_factor=4,"
       "rotary_trained=8,experts=4",
       {},
       true},
      {"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,inner=12,positions=9,gelu_tanh=1,key_bias=1,tied=0", {}, true},
      {"moe:layers=2,hidden=8,heads=4,seq=6,vocab=12,experts=4,every=2", {}, true},
      {"bert:layers=2,hidden=8,heads=4,seq=6,masked=3,vocab=12,dropout=0.2", {}, true},
      {"bert:layers=2,hidden=8,heads=4,seq=6,masked=3,vocab=12,positions=9,segments=2,mask=3,key_bias=1", {}, true},
      {"t5:layers=2,hidden=8,heads=4,seq=6,target=5,vocab=12,dropout=0.2", {}, true},
      {"recommender:fields=3,rows=20,width=4,features=2,hidden=8", {}},
      {"recommender:fields=3,rows=20,width=4,features=0,hidden=8", {}}};
  return list;
}

constexpr int64_t kBatch = 12;

Job zoo_job_of(const SmallModel& model, int64_t statistics_groups = 1) {
  Job job = model_job(model.spec, {.image = model.image,
                                   .batch = kBatch,
                                   .steps = model.steps,
                                   .learning_rate = 1e-3,
                                   .statistics_groups = statistics_groups});
  // AdamW would turn what rounding leaves of the zero gradients of dead channels into steps.
  if (model.has_statistics_groups) job.training.optimizer = {.kind = OptimizerKind::momentum, .momentum = 0.9};
  return job;
}

void expect_oracle(const Job& job, const JobResult& oracle, const std::string& what) {
  SCOPED_TRACE(what);
  expect_same_training(run_job(job), oracle, 1e-9, what);
}

/// Trains in the interpreter, once for all tests.
const JobResult& one_rank_of(const SmallModel& model, int64_t statistics_groups = 1) {
  static std::map<std::pair<std::string, int64_t>, JobResult> trained;
  const auto [found, is_new] = trained.try_emplace({model.spec, statistics_groups});
  if (is_new) found->second = interpret_job(zoo_job_of(model, statistics_groups));
  return found->second;
}

class ZooModels : public testing::TestWithParam<size_t> {
 protected:
  const SmallModel& model() const { return small_models()[GetParam()]; }
};

TEST_P(ZooModels, TrainInDataParallel) {
  const JobResult& oracle = one_rank_of(model());
  for (const int ranks : {1, 2, 3, 4}) {
    if (!can_run(ranks)) continue;
    Job job = zoo_job_of(model());
    job.ranks = ranks;
    expect_oracle(job, oracle, fmt::format("{} on {} ranks", model().spec, ranks));
  }
}

TEST_P(ZooModels, TrainUnderAutomaticPlans) {
  const JobResult& oracle = one_rank_of(model());
  for (const int ranks : {2, 3, 4}) {
    for (const int64_t tensor : {1, 2, 4}) {
      if (!can_run(ranks) || ranks % tensor != 0 || (tensor > 1 && !model().has_blocks)) continue;
      const PlanOptions options{.parallel = Parallel::automatic, .blocks = {.tensor = tensor, .sequence = tensor > 1}};
      Job job = zoo_job_of(model());
      job.ranks = ranks;
      job.mesh = make_mesh(job.forward, ranks, options);
      job.plan = [&](const Graph& graph) { return make_plan(graph, all_ops(), job.mesh, options); };
      expect_oracle(job, oracle, fmt::format("{} on {} ranks, {} of tensor", model().spec, ranks, tensor));
    }
  }
}

TEST_P(ZooModels, TrainUnderEverySearch) {
  const JobResult& oracle = one_rank_of(model());
  const std::vector<std::pair<Search, int>> cases{{Search::exact, 2},   {Search::exact, 3},     {Search::exact, 4},
                                                  {Search::exact, 6},   {Search::exact, 8},     {Search::dynamic, 3},
                                                  {Search::dynamic, 8}, {Search::recursive, 4}, {Search::recursive, 6}};
  for (const auto& [search, ranks] : cases) {
    if (!can_run(ranks)) continue;
    // These networks take as long as all others together: exact on 3 and 6 ranks, dynamic on 8, recursive on 4.
    if (model().has_statistics_groups && (search == Search::exact) != (ranks % 3 == 0)) continue;
    const int64_t tensor = ranks % 2 == 0 && search != Search::exact ? ranks / 2 : ranks;
    const PlanOptions options{
        .parallel = Parallel::automatic, .search = search, .blocks = {.tensor = tensor, .searched = true}};
    Job job = zoo_job_of(model());
    job.ranks = ranks;
    job.mesh = make_mesh(job.forward, ranks, options);
    job.plan = [&](const Graph& graph) { return make_plan(graph, all_ops(), job.mesh, options); };
    expect_oracle(job, oracle, fmt::format("{} on {} ranks, {}", model().spec, ranks, name_of(search)));
  }
}

TEST_P(ZooModels, TrainInContextParallel) {
  if (!model().has_blocks) return;  // no sequence
  const JobResult& oracle = one_rank_of(model());
  for (const auto& [ranks, context] : {std::pair{2, 2}, {3, 3}, {4, 2}}) {
    if (!can_run(ranks)) continue;
    const PlanOptions options{.parallel = Parallel::automatic, .blocks = {.context = context}};
    Job job = zoo_job_of(model());
    job.ranks = ranks;
    job.mesh = make_mesh(job.forward, ranks, options);
    job.plan = [&](const Graph& graph) { return make_plan(graph, all_ops(), job.mesh, options); };
    expect_oracle(job, oracle, fmt::format("{} on {} ranks, {} of context", model().spec, ranks, context));
  }
}

TEST_P(ZooModels, TrainInStagesAndMicroBatches) {
  const int64_t micro_batches = 2;
  const int64_t groups = model().has_statistics_groups ? micro_batches : 1;
  const JobResult& oracle = one_rank_of(model(), groups);
  for (const int ranks : {2, 4}) {
    if (!can_run(ranks) || (groups > 1 && ranks > 2)) continue;
    Job job = zoo_job_of(model(), groups);
    job.ranks = ranks;
    job.micro_batches = micro_batches;
    job.pipeline = {.stages = 2, .order = Order::one_forward_one_backward};
    expect_oracle(job, oracle, fmt::format("{} in 2 stages on {} ranks", model().spec, ranks));
  }
}

TEST_P(ZooModels, TrainWithShardedOptimizers) {
  if (!can_run(2)) GTEST_SKIP() << "too few processes";
  const JobResult& oracle = one_rank_of(model());
  for (const int64_t level : {1, 2, 3}) {
    Job job = zoo_job_of(model());
    job.ranks = 2;
    job.zero = {.level = level, .threshold = 0};
    expect_oracle(job, oracle, fmt::format("{}, level {}", model().spec, level));
  }
}

INSTANTIATE_TEST_SUITE_P(All, ZooModels, testing::Range<size_t>(0, small_models().size()));

}  // namespace
}  // namespace partita
