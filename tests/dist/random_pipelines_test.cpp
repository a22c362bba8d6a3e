// Whole training programs under random pipelines: stages and their annotations, groups of ranks that are even or not
// and run several stages, orders, micro-batches, optimizer sharding, recomputation and, on the ranks of each stage,
// random legal plans. Against the interpreter, in f64. PARTITA_DRAWS says how many of each model, by default 24;
// PARTITA_DRAW runs one of them alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "compiler/plan/assign_stages.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/random_plan.h"
#include "support/ranks.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

struct DrawnModel {
  std::string spec;
  TestedJob options;
  std::vector<Recompute> recompute{Recompute::none};  // besides random nodes
  std::vector<int64_t> statistics_groups{1};
};

/// One draw of everything.
struct DrawnPipeline {
  Job job;
  std::string what;
};

Mesh random_mesh(int64_t ranks, Dice& dice) {
  std::vector<std::pair<std::string, int64_t>> axes;
  const auto add = [&](int64_t size) { axes.emplace_back(fmt::format("a{}", axes.size()), size); };
  for (const int64_t prime : {2, 3, 5, 7}) {
    for (; ranks > 1 && ranks % prime == 0; ranks /= prime) {
      if (!axes.empty() && dice.below(3) == 0) {
        axes.back().second *= prime;
      } else {
        add(prime);
      }
    }
  }
  if (axes.empty()) add(1);
  int64_t count = 1;
  for (const auto& [name, size] : axes) count *= size;
  std::vector<int> order;
  if (dice.below(3) == 0) {
    order.resize(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = count - 1; i > 0; --i) {
      std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(dice.below(i + 1))]);
    }
  }
  return Mesh(axes, order);
}

/// Annotations of stages that never fall along the way of a value: later nodes are on higher stages, with some noise; a
/// few nodes have none.
void annotate_randomly(Graph& forward, int64_t stages, Dice& dice) {
  std::vector<int64_t> lowest(forward.values.size(), 0);
  const int64_t count = static_cast<int64_t>(forward.nodes.size()), shift = dice.below(count);
  for (int64_t n = 0; n < count; ++n) {
    Node& node = forward.nodes[static_cast<size_t>(n)];
    int64_t stage = (n * 2 + shift) * stages / (3 * count) + (dice.below(4) == 0 ? dice.below(3) - 1 : 0);
    stage = std::clamp<int64_t>(stage, 0, stages - 1);
    for (const ValueId input : node.inputs) stage = std::max(stage, lowest[input]);
    for (const ValueId output : node.outputs) lowest[output] = stage;
    node.stage = dice.below(8) == 0 ? -1 : static_cast<int>(stage);
  }
}

/// Whether there are annotations under which each stage has nodes; else there are none.
bool annotate_stages_randomly(Graph& forward, int64_t stages, Dice& dice) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    annotate_randomly(forward, stages, dice);
    try {
      assign_stages(forward, Rules(forward, all_ops()), stages);
      return true;
    } catch (const InvalidArgument&) {
    }
  }
  for (Node& node : forward.nodes) node.stage = -1;
  return false;
}

/// Stretches of nodes that are recomputed together, over the boundaries of stages too.
void recompute_randomly(Graph& forward, Dice& dice) {
  std::string group;
  for (size_t n = 0; n < forward.nodes.size(); ++n) {
    if (dice.below(3) == 0) group = dice.below(2) == 0 ? "" : fmt::format("stretch{}", n);
    forward.nodes[n].recompute = group;
  }
}

DrawnPipeline draw_pipeline(const DrawnModel& model, const Job& base, int64_t statistics_groups, uint64_t seed) {
  Dice dice(seed * 1000003 + 17);
  DrawnPipeline drawn{.job = base};
  Job& job = drawn.job;
  job.ranks = static_cast<int>(1 + dice.below(8));
  const int64_t groups = 1 + dice.below(std::min(4, job.ranks));
  int64_t interleave = 1 + dice.below(3);
  if (groups == 1 && dice.below(3) > 0) interleave = 2 + dice.below(2);
  const int64_t stages = groups * interleave;
  job.pipeline = {
      .stages = stages, .order = static_cast<Order>(dice.below(kNames<Order>.size())), .interleave = interleave};
  const bool is_annotated = stages > 1 && dice.below(2) == 0 && annotate_stages_randomly(job.forward, stages, dice);
  const auto policy = model.recompute[static_cast<size_t>(dice.below(static_cast<int64_t>(model.recompute.size())))];
  job.training.recompute = policy;
  const bool recomputes_some = policy == Recompute::none && dice.below(3) == 0;
  if (recomputes_some) recompute_randomly(job.forward, dice);
  std::vector<int64_t> counts;
  for (const int64_t count : {1, 2, 3, 4, 6, 8, 12}) {
    if (model.options.batch % count == 0 && statistics_groups % count == 0) counts.push_back(count);
    if (model.statistics_groups.size() == 1 && model.options.batch % count == 0) counts.push_back(count);
  }
  job.micro_batches = counts[static_cast<size_t>(dice.below(static_cast<int64_t>(counts.size())))];
  job.zero = {.level = dice.below(4), .threshold = dice.below(2) * 256};
  job.training.output_gradients = dice.below(4) == 0;
  const uint64_t plan_seed = static_cast<uint64_t>(dice.below(int64_t{1} << 40));
  job.stage_plan = [plan_seed](const Graph& graph, int64_t ranks) {
    Dice of_mesh(plan_seed + static_cast<uint64_t>(ranks));
    const Mesh mesh = random_mesh(ranks, of_mesh);
    return random_plan(graph, mesh, plan_seed + static_cast<uint64_t>(ranks));
  };
  // Those that users run make views and work in place, which the reference kernels do not.
  if (dice.below(2) == 0) job.kernels = KernelSet::fast;
  drawn.what = fmt::format(
      "{}, draw {}: {} ranks, {} stages on {} groups{}, {}, {} micro-batches of {}, level {}, recompute {}{}, "
      "{} norm groups, {} kernels",
      model.spec, seed, job.ranks, stages, groups, is_annotated ? " by marks" : "", name_of(job.pipeline.order),
      job.micro_batches, model.options.batch, job.zero.level, name_of(policy), recomputes_some ? " some nodes" : "",
      statistics_groups, job.kernels == KernelSet::fast ? "fast" : "reference");
  return drawn;
}

/// Runs the drawn job with the largest number of micro-batches, up to the drawn one, that its random cuts allow.
JobResult run_drawn(DrawnPipeline& drawn) {
  while (true) {
    try {
      return run_job(drawn.job);
    } catch (const InvalidArgument& error) {
      if (drawn.job.micro_batches == 1 || !std::string(error.what()).starts_with("[micro-batches] ")) throw;
      while (drawn.job.batch(0).at("label").type().shape[0] % --drawn.job.micro_batches != 0) {
      }
      drawn.what += fmt::format(", {} of them", drawn.job.micro_batches);
    }
  }
}

/// Each state but a counter is on one stage.
void expect_owners(const Program& program, const std::string& what) {
  std::map<std::string, int> owners;
  for (const StageProgram& stage : program.stages) {
    for (const State& state : stage.graph.states) ++owners[stage.graph.values[state.entry].name];
  }
  for (const State& state : program.graph.states) {
    const std::string& name = program.graph.values[state.entry].name;
    if (state.kind == StateKind::counter) {
      EXPECT_GE(owners[name], 1) << what << ", " << name;
    } else {
      EXPECT_EQ(owners[name], 1) << what << ", " << name;
    }
  }
}

void expect_texts_are_read_back(const Program& program, const std::string& what) {
  for (const StageProgram& stage : program.stages) {
    const std::string local = print(stage.local, all_ops());
    EXPECT_EQ(print(parse_local_graph(local, all_ops()), all_ops()), local) << what;
    const std::string schedule = print(stage.schedule, stage.local);
    EXPECT_EQ(print(parse_schedule(schedule, stage.local), stage.local), schedule) << what;
  }
}

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* given = std::getenv(variable);
  return given == nullptr ? otherwise : static_cast<uint64_t>(std::atoll(given));
}

void expect_random_pipelines(const DrawnModel& model) {
  std::map<int64_t, std::pair<Job, JobResult>> oracles;  // by the groups of norms
  const uint64_t first = number_from("PARTITA_DRAW", 0), count = number_from("PARTITA_DRAWS", 24);
  const uint64_t end = std::getenv("PARTITA_DRAW") == nullptr ? count : first + 1;
  uint64_t in_micro_batches = 0, in_stages = 0;
  for (uint64_t seed = first; seed < end; ++seed) {
    const int64_t groups = model.statistics_groups[seed % model.statistics_groups.size()];
    if (!oracles.contains(groups)) {
      TestedJob options = model.options;
      options.statistics_groups = groups;
      Job job = model_job(model.spec, options);
      JobResult oracle = interpret_job(job);
      oracles.emplace(groups, std::pair(std::move(job), std::move(oracle)));
    }
    const auto& [base, oracle] = oracles.at(groups);
    DrawnPipeline drawn = draw_pipeline(model, base, groups, seed);
    if (!can_run(drawn.job.ranks)) continue;
    try {
      const JobResult result = run_drawn(drawn);
      expect_same_training(result, oracle, 1e-9, drawn.what);
      expect_owners(result.program, drawn.what);
      if (seed % 4 == 0) expect_texts_are_read_back(result.program, drawn.what);
      if (drawn.job.micro_batches > 1) ++in_micro_batches;
      if (result.program.stages.size() > 1) ++in_stages;
    } catch (const std::exception& error) {
      ADD_FAILURE() << drawn.what << ": " << error.what();
    }
  }
  if (end - first < 24 || ranks_are_processes()) return;
  // The draws are what they are for.
  EXPECT_GE(in_micro_batches, (end - first) / 3);
  EXPECT_GE(in_stages, (end - first) / 2);
}

const std::vector<Recompute> kEveryPolicy{Recompute::none, Recompute::selective, Recompute::full};

TEST(RandomPipelines, Mlp) {
  expect_random_pipelines({"mlp:hidden=12,layers=3,dropout=0.2", {.image = {1, 6, 5}, .batch = 24, .steps = 6}});
}

TEST(RandomPipelines, Lenet) {
  expect_random_pipelines({"lenet:dropout=0.2", {.image = {1, 28, 28}, .batch = 12, .steps = 3}});
}

TEST(RandomPipelines, Resnet18) {
  expect_random_pipelines({"resnet18:width=4,size=8",
                           {.image = {3, 8, 8}, .batch = 24, .steps = 2},
                           {Recompute::none, Recompute::full},
                           {4, 6}});
}

// Tied embeddings, weight decay, clipping by the global norm.
TEST(RandomPipelines, Gpt) {
  expect_random_pipelines({"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2",
                           {.image = {}, .batch = 24, .steps = 6},
                           kEveryPolicy});
}

// Means over the tokens whose labels count, of which micro-batches have different numbers, one of them none.
TEST(RandomPipelines, IgnoredLabels) {
  expect_random_pipelines({"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2",
                           {.image = {}, .batch = 24, .steps = 4, .ignore_index = -100},
                           kEveryPolicy});
}

// Some tokens find no slot with their experts; an auxiliary loss on each stage with a block.
TEST(RandomPipelines, Moe) {
  expect_random_pipelines({"moe:layers=2,hidden=8,heads=2,seq=6,vocab=12,experts=4,capacity=0.75,shared=1,dropout=0.2",
                           {.image = {}, .batch = 12, .steps = 5},
                           kEveryPolicy});
}

// Tied, with fewer heads of keys than of queries.
TEST(RandomPipelines, Llama) {
  expect_random_pipelines({"llama:layers=2,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12,tied=1",
                           {.image = {}, .batch = 24, .steps = 5},
                           kEveryPolicy});
}

}  // namespace
}  // namespace partita
