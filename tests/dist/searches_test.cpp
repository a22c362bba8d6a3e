// Plans of every search train as one rank does.

#include <gtest/gtest.h>

#include "compiler/search/make_plan.h"
#include "compiler/search/plan_costs.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

void expect_one_rank_of_searches(const std::string& spec, const TestedJob& options) {
  Job job = model_job(spec, options);
  const JobResult oracle = interpret_job(job);
  for (const Search search : {Search::exact, Search::dynamic, Search::recursive, Search::propagation}) {
    for (const int ranks : {2, 3, 4, 6, 8}) {
      if (!can_run(ranks)) continue;
      // A slow network and a fast one: few cuts, and many.
      for (const double flops : {1e-3, 1.0}) {
        PlanOptions plan{.parallel = Parallel::automatic, .search = search};
        plan.costs = [flops](const Mesh& mesh) {
          PlanCosts costs = PlanCosts::bytes(mesh);
          costs.flop_seconds = flops;
          return costs;
        };
        if (search == Search::propagation && flops == 1.0) continue;
        job.mesh = make_mesh(job.forward, ranks, plan);
        job.ranks = ranks;
        job.plan = [plan, mesh = job.mesh](const Graph& graph) { return make_plan(graph, all_ops(), mesh, plan); };
        expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{}, {} on {}", spec, name_of(search), ranks));
      }
    }
  }
}

/// The batch over some ranks, what a search finds over the others.
void expect_one_rank_with_batch_cut(const std::string& spec, const TestedJob& options) {
  Job job = model_job(spec, options);
  const JobResult oracle = interpret_job(job);
  for (const auto& [ranks, tensor] : {std::pair(2, 2), {4, 2}, {6, 3}, {6, 2}, {8, 4}}) {
    if (!can_run(ranks)) continue;
    for (const double flops : {1e-3, 1.0}) {
      PlanOptions plan{.parallel = Parallel::automatic,
                       .search = Search::exact,
                       .blocks = {.tensor = tensor, .searched = true},
                       .costs = [flops](const Mesh& mesh) {
                         PlanCosts costs = PlanCosts::bytes(mesh);
                         costs.flop_seconds = flops;
                         return costs;
                       }};
      job.mesh = make_mesh(job.forward, ranks, plan);
      job.ranks = ranks;
      job.plan = [plan, mesh = job.mesh](const Graph& graph) { return make_plan(graph, all_ops(), mesh, plan); };
      expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{}, {} of {} searched", spec, tensor, ranks));
    }
  }
}

TEST(Searches, WithTheBatchCut) {
  expect_one_rank_with_batch_cut("mlp:hidden=24,dropout=0.2", {.image = {1, 6, 5}, .steps = 5});
  expect_one_rank_with_batch_cut("resnet18:width=4,size=8", {.image = {3, 8, 8}, .steps = 2});
  expect_one_rank_with_batch_cut("gpt:layers=2,hidden=16,heads=4,seq=8,vocab=12,dropout=0.2",
                                 {.image = {}, .steps = 3, .learning_rate = 1e-3});
  expect_one_rank_with_batch_cut("moe:layers=2,hidden=8,heads=2,seq=6,vocab=12,experts=4,capacity=0.75,shared=1",
                                 {.image = {}, .batch = 12, .steps = 2, .learning_rate = 1e-3});
}

TEST(Searches, Mlp) { expect_one_rank_of_searches("mlp:hidden=24,dropout=0.2", {.image = {1, 6, 5}, .steps = 10}); }

TEST(Searches, Lenet) { expect_one_rank_of_searches("lenet:dropout=0.2", {.image = {1, 28, 28}, .steps = 3}); }

TEST(Searches, Resnet18) { expect_one_rank_of_searches("resnet18:width=4,size=8", {.image = {3, 8, 8}, .steps = 2}); }

TEST(Searches, Gpt) {
  expect_one_rank_of_searches("gpt:layers=2,hidden=16,heads=4,seq=8,vocab=12,dropout=0.2",
                              {.image = {}, .steps = 4, .learning_rate = 1e-3});
}

TEST(Searches, Llama) {
  expect_one_rank_of_searches("llama:layers=2,hidden=16,heads=4,kv_heads=2,intermediate=24,seq=8,vocab=12,tied=1",
                              {.image = {}, .steps = 4, .learning_rate = 1e-3});
}

TEST(Searches, Moe) {
  expect_one_rank_of_searches("moe:layers=2,hidden=8,heads=2,seq=6,vocab=12,experts=4,capacity=0.75,shared=1",
                              {.image = {}, .batch = 12, .steps = 3, .learning_rate = 1e-3});
}

}  // namespace
}  // namespace partita
