// Sequences cut throughout: attention gathers keys and values for its queries, or merges what it finds in the keys of
// each rank. The numbers are those of one rank.

#include <gtest/gtest.h>

#include "compiler/partition/collectives.h"
#include "ir/graph/annotate_nodes.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

const std::vector<std::string> kContextModels{"gpt:layers=2,hidden=24,heads=6,seq=9,vocab=12,dropout=0.2",
                                              "llama:layers=2,hidden=24,heads=6,kv_heads=3,seq=9,vocab=12"};

/// Cuts of attention, by the named axes that there are.
struct ContextCase {
  int ranks;
  BlockSharding blocks;
  std::string annotation = "";
};

void annotate(Job& job, const ContextCase& one) {
  if (!one.annotation.empty()) annotate_nodes(job.forward, {parse_node_annotation("*/attention=" + one.annotation)});
}

JobResult run_context(Job job, const ContextCase& one) {
  const PlanOptions options{.parallel = Parallel::automatic, .blocks = one.blocks};
  annotate(job, one);
  job.ranks = one.ranks;
  job.mesh = make_mesh(job.forward, one.ranks, options);
  job.plan = [options, mesh = job.mesh](const Graph& graph) { return make_plan(graph, all_ops(), mesh, options); };
  return run_job(job);
}

void expect_context(
    const std::vector<ContextCase>& cases, const std::function<void(Job&)>& change = [](Job&) {}) {
  for (const std::string& spec : kContextModels) {
    Job job = model_job(spec, {.batch = 8, .steps = 10});
    const JobResult oracle = interpret_job(job);
    change(job);
    for (const ContextCase& one : cases) {
      if (!can_run(one.ranks)) continue;
      const std::string what = fmt::format("{} on {} ranks {}", spec, one.ranks, one.annotation);
      expect_same_training(run_context(job, one), oracle, 1e-9, what);
    }
  }
}

// Nine positions in two and four parts are uneven.
TEST(ContextParallel, OfQueriesKeepsTheNumbers) {
  expect_context({{2, {.context = 2}},
                  {3, {.context = 3}},
                  {4, {.context = 4}},
                  {4, {.context = 2}},
                  {6, {.tensor = 3, .context = 2}},
                  {8, {.tensor = 2, .sequence = true, .context = 2}}});
}

const std::vector<ContextCase>& cases_of_keys() {
  static const std::vector<ContextCase> all{
      {2, {.context = 2}, "[context=2]((None,None,None),(None,context,None),(None,context,None))"},
      {3, {.context = 3}, "[context=3]((None,None,None),(None,context,None),(None,context,None))"},
      {4, {.context = 4}, "[context=4]((None,None,None),(None,context,None),(None,context,None))"},
      {4, {.context = 2}, "[data=2,context=2]((data,None,None),(data,context,None),(data,context,None))"},
      {4, {}, "[query=2,key=2]((None,query,None),(None,key,None),(None,key,None))"},
      {6,
       {.tensor = 3, .context = 2},
       "[context=2,tensor=3]((None,None,tensor),(None,context,tensor),(None,context,tensor))"},
      {6, {}, "[key=3,head=2]((None,None,None),(None,key,None),(None,key,None))"}};
  return all;
}

TEST(ContextParallel, OfKeysKeepsTheNumbers) { expect_context(cases_of_keys()); }

TEST(ContextParallel, OfKeysRunsUnderFastKernels) {
  expect_context(cases_of_keys(), [](Job& job) { job.kernels = KernelSet::fast; });
}

TEST(ContextParallel, WithMicroBatchesOptimizerShardingAndRecomputation) {
  for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
    const auto change = [&](Job& job) {
      job.micro_batches = 2;
      job.zero = {.level = recompute == Recompute::full ? 3 : 1, .threshold = 0};
      job.training.recompute = recompute;
    };
    expect_context({{4, {.context = 2}}, {6, {.tensor = 3, .context = 2}}}, change);
    expect_context({cases_of_keys()[0], cases_of_keys()[3], cases_of_keys()[4]}, change);
  }
}

/// "forward all_gather context": elements of all results, of those collectives in a step that move activations.
std::map<std::string, int64_t> elements_moved(const std::string& spec, const ContextCase& one) {
  Job job = model_job(spec, {.batch = 4});
  annotate(job, one);
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
  const LocalGraph local = compile(job.forward, all_ops(), device->catalog(),
                                   {.ranks = one.ranks,
                                    .plan = {.parallel = Parallel::automatic, .blocks = one.blocks},
                                    .training = job.training})
                               .local();
  std::map<std::string, int64_t> elements;
  for (const Node& node : local.graph.nodes) {
    if (!is_collective(node) || is_local(*collective_of(node))) continue;
    const Type& type = local.graph.type(node.outputs[0]);
    if (type.rank() != 3) continue;
    elements[fmt::format("{} {} {}", name_of(node.phase), node.op, local.mesh.print(axes_of(node, local.mesh)))] +=
        type.elements();
  }
  return elements;
}

// Each layer moves its keys and values, of which grouped heads have fewer, and their gradients. Products with weights,
// norms and the loss move nothing.
TEST(ContextParallel, MovesKeysAndValuesOnly) {
  const int64_t rows = 4 * 9, layers = 2;
  for (const auto& [spec, width] : {std::pair(kContextModels[0], 24), std::pair(kContextModels[1], 12)}) {
    const int64_t moved = layers * 2 * rows * width;
    const std::map<std::string, int64_t> expected{{"forward all_gather context", moved},
                                                  {"backward reduce_scatter context", moved}};
    EXPECT_EQ(elements_moved(spec, {3, {.context = 3}}), expected) << spec;
    EXPECT_EQ(elements_moved(spec, {4, {.context = 2}}), expected) << spec;
  }
}

// Queries are gathered, the largest scores, sums and weighted values of all keys reduced; the gradient needs what
// arrives for all queries, and gives its part of that of each. Keys and values stay where they are.
TEST(ContextParallel, OfKeysMovesQueriesAndSums) {
  const int64_t rows = 4 * 9, layers = 2, width = 24, heads = 6;
  const std::map<std::string, int64_t> expected{{"forward all_gather context", layers * rows * width},
                                                {"forward all_reduce context", layers * rows * (width + 2 * heads)},
                                                {"backward all_gather context", layers * rows * width},
                                                {"backward reduce_scatter context", layers * rows * width}};
  for (const std::string& spec : kContextModels) EXPECT_EQ(elements_moved(spec, cases_of_keys()[1]), expected) << spec;
}

}  // namespace
}  // namespace partita
