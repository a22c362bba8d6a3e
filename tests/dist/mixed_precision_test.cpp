// Mixed precision is one training on any ranks. In f64 graphs `round` takes the place of casts: if a rounding depended
// on the plan, results would differ by units of bf16. In f32, ranks add in other orders, and a sum near the middle of
// two 16-bit numbers is rounded either way: gradients are as near to those of f64 as one rank's.

#include <gtest/gtest.h>

#include "compiler/partition/collectives.h"
#include "compiler/plan/complete_plan.h"
#include "compiler/search/make_plan.h"
#include "ir/ops/registry.h"
#include "runtime/execute/interpreter.h"
#include "support/mixed_jobs.h"
#include "support/random_plan.h"
#include "support/ranks.h"

namespace partita {
namespace {

/// Fails the test if a value of 16 bits is a sum of parts that are still to be added.
void expect_whole_sums(const Program& program) {
  for (const StageProgram& stage : program.stages) {
    const LocalGraph& local = stage.local;
    for (size_t v = 0; v < local.graph.values.size(); ++v) {
      const DType dtype = local.graph.type(static_cast<ValueId>(v)).dtype;
      if (dtype != DType::bf16 && dtype != DType::f16) continue;
      const Sharding& sharding = local.shardings[v];
      EXPECT_TRUE(sharding.partial.empty() || sharding.kind != Reduce::sum) << local.graph.values[v].name;
    }
  }
}

int count_of_rounds(const Graph& graph) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.op == "round"; }));
}

TEST(MixedPrecision, IsOneTrainingOnAnyRanks) {
  for (const MixedCase& one : mixed_cases()) {
    Job job = mixed_job(one, MixedPrecision::bf16, DType::f64, 8);
    const JobResult oracle = interpret_job(job);
    ASSERT_GT(count_of_rounds(oracle.program.graph), 5) << one.spec;
    for (const int ranks : {1, 2, 3, 4, 6, 8}) {
      if (!can_run(ranks)) continue;
      job.ranks = ranks;
      expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} on {} ranks", one.spec, ranks));
    }
  }
}

TEST(MixedPrecision, IsOneTrainingUnderLevelsMicroBatchesAndRecomputation) {
  for (const MixedCase& one : mixed_cases()) {
    for (const MixedPrecision precision : {MixedPrecision::bf16, MixedPrecision::f16}) {
      Job job = mixed_job(one, precision, DType::f64, 6);
      const JobResult oracle = interpret_job(job);
      const bool has_statistics = one.spec.starts_with("resnet"), has_blocks = !one.image.empty() == has_statistics;
      for (const int level : {1, 2, 3}) {
        const int ranks = level + 1;
        if (!can_run(ranks)) continue;
        job.ranks = ranks;
        job.zero = {.level = level, .threshold = 0};
        job.micro_batches = has_statistics ? 1 : 2;
        job.training.recompute = level == 2 && has_blocks ? Recompute::full : Recompute::none;
        expect_same_training(run_job(job), oracle, 1e-9,
                             fmt::format("{} in {} at level {}", one.spec, name_of(precision), level));
      }
    }
  }
}

TEST(MixedPrecision, IsOneTrainingWithAResidualStreamOfAllDigits) {
  for (const MixedCase& one : mixed_cases()) {
    if (!one.spec.starts_with("gpt") && !one.spec.starts_with("resnet")) continue;
    Job job = mixed_job(one, MixedPrecision::bf16, DType::f64, 6);
    const double rounded = interpret_job(job).losses.back();
    job.training.precision.residual = Residual::f32;
    const JobResult oracle = interpret_job(job);
    EXPECT_NE(oracle.losses.back(), rounded) << one.spec;
    for (const int ranks : {1, 2, 3}) {
      if (!can_run(ranks)) continue;
      job.ranks = ranks;
      job.zero = {.level = ranks, .threshold = 0};
      job.micro_batches = one.spec.starts_with("resnet") ? 1 : 2;
      job.training.recompute = ranks == 2 && one.image.empty() ? Recompute::full : Recompute::none;
      expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} on {} ranks", one.spec, ranks));
    }
  }
}

TEST(MixedPrecision, IsOneTrainingWithLayersOfTheirOwn) {
  Job job = mixed_job({"gpt:layers=4,hidden=8,heads=4,seq=6,vocab=12", {}}, MixedPrecision::bf16, DType::f64, 6);
  job.training.precision.layers = {
      {"net/h/1..2", MixedPrecision::f16}, {"net/h/2/mlp", MixedPrecision::f32}, {"net/ln_f", MixedPrecision::f32}};
  const JobResult oracle = interpret_job(job);
  for (const int ranks : {2, 4}) {
    if (!can_run(ranks)) continue;
    job.ranks = ranks;
    job.pipeline.stages = 2;
    job.micro_batches = 2;
    expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} ranks", ranks));
  }
}

// Before the update, a training and an evaluation compute the same numbers.
TEST(MixedPrecision, AnEvaluationHasTheLossOfItsTraining) {
  const char* specs[] = {"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12",
                         "llama:layers=2,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12",
                         "moe:layers=2,hidden=8,heads=4,seq=6,vocab=12,experts=4,capacity=0.75,shared=1",
                         "t5:layers=2,hidden=8,heads=2"};
  std::vector<MixedCase> cases{{"mlp:hidden=12", {1, 6, 5}},
                               {"lenet", {1, 28, 28}},
                               {"vit:layers=2,hidden=8,heads=2,size=8,patch=4", {3, 8, 8}}};
  for (const char* spec : specs) cases.push_back({spec, {}, 6});
  for (const MixedCase& one : cases) {
    for (const Residual residual : {Residual::half, Residual::f32}) {
      Job job = mixed_job(one, MixedPrecision::bf16, DType::f64, 1);
      job.training.precision.residual = residual;
      const double loss = interpret_job(job).losses[0];
      const Graph forward = mixed_precision(job.forward, all_ops(), job.training.precision);
      Arrays given = job.states;
      for (auto& [name, array] : job.batch(0)) given.insert_or_assign(name, std::move(array));
      EXPECT_NEAR(interpret_all(forward, all_ops(), given).outputs.at("loss").at(0), loss, 1e-12 * loss) << one.spec;
    }
  }
}

TEST(MixedPrecision, IsOneTrainingInStages) {
  for (const MixedCase& one : mixed_cases()) {
    if (one.spec.starts_with("resnet")) continue;  // statistics are those of a micro-batch
    Job job = mixed_job(one, MixedPrecision::bf16, DType::f64, 6);
    const JobResult oracle = interpret_job(job);
    for (const int ranks : {2, 4, 6}) {
      if (!can_run(ranks)) continue;
      job.ranks = ranks;
      job.micro_batches = 4;
      job.pipeline.stages = 2;
      expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} in 2 stages on {} ranks", one.spec, ranks));
    }
  }
}

TEST(MixedPrecision, HasStagesInF32) {
  for (const MixedCase& one : mixed_cases()) {
    if (one.spec.starts_with("resnet") || !can_run(4)) continue;
    Job job = mixed_job(one, MixedPrecision::bf16, DType::f32, 3);
    const JobResult single = run_job(job);
    job.ranks = 4;
    job.micro_batches = 4;
    job.pipeline.stages = 2;
    const JobResult several = run_job(job);
    expect_whole_sums(several.program);
    expect_near_losses(several, single, 5e-3, one.spec);
  }
}

TEST(MixedPrecision, CutsBlocksOfATransformer) {
  const char* specs[] = {"gpt:layers=2,hidden=16,heads=4,seq=12,vocab=48",
                         "llama:layers=2,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12"};
  for (const char* spec : specs) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      Job job = mixed_job({spec, {}}, MixedPrecision::bf16, dtype, 4);
      const JobResult oracle = dtype == DType::f64 ? interpret_job(job) : run_job(job);
      if (!can_run(4)) continue;
      job.ranks = 4;
      job.plan = [](const Graph& graph) {
        return make_plan(graph, all_ops(), Mesh({{"data", 2}, {"tensor", 2}}),
                         {.parallel = Parallel::automatic, .blocks = {.tensor = 2}});
      };
      job.mesh = Mesh({{"data", 2}, {"tensor", 2}});
      const JobResult result = run_job(job);
      const Plan& plan = result.program.plan();
      int cut = 0;
      for (size_t s = 0; s < result.program.graph.states.size(); ++s) {
        const auto& dims = plan.inputs[result.program.graph.inputs.size() + s];
        cut += std::any_of(dims.begin(), dims.end(), [](const Axes& axes) { return !axes.empty(); }) ? 1 : 0;
      }
      EXPECT_GE(cut, 8) << spec << ": parameters are cut as their products are";
      if (dtype == DType::f64) expect_same_training(result, oracle, 1e-9, spec);
      expect_near_losses(result, oracle, 5e-3, spec);
    }
  }
}

// A mean over 9 places of numbers of bf16 often lies in the middle of two of them.
TEST(MixedPrecision, AMeanOfPartsIsRoundedAsTheWholeOne) {
  Job job = mixed_job({"resnet18:width=4,size=24", {3, 24, 24}, 12}, MixedPrecision::bf16, DType::f64, 3);
  const JobResult oracle = interpret_job(job);
  if (!can_run(3)) return;
  job.ranks = 3;
  job.mesh = Mesh({{"a", 3}});
  job.plan = [&](const Graph& graph) {
    PartialPlan partial(graph);
    const Rules rules(graph, all_ops());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].phase != Phase::forward || graph.nodes[n].scope != "net/avgpool") continue;
      if (graph.nodes[n].op != "reduce") continue;
      Cut cut(rules[n].factors.size());
      cut[2] = {0};
      partial.cuts[n] = cut;
    }
    return complete_plan(graph, rules, job.mesh, "cut mean", partial);
  };
  expect_same_training(run_job(job), oracle, 1e-9, "a mean that is cut");
}

TEST(MixedPrecision, IsOneTrainingUnderRandomPlans) {
  for (const MixedCase& one : mixed_cases()) {
    Job job =
        mixed_job({one.spec, one.image, one.spec.starts_with("resnet") ? 24 : 6}, MixedPrecision::bf16, DType::f64, 4);
    const JobResult oracle = interpret_job(job);
    for (const Mesh& mesh : {Mesh({{"a", 2}, {"b", 2}}), Mesh({{"a", 3}, {"b", 2}})}) {
      if (!can_run(static_cast<int>(mesh.ranks()))) continue;
      job.mesh = mesh;
      job.ranks = static_cast<int>(mesh.ranks());
      for (uint64_t seed = 0; seed < 3; ++seed) {
        job.plan = [&](const Graph& graph) { return random_plan(graph, mesh, seed); };
        expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{}, {}, seed {}", one.spec, print(mesh), seed));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(MixedPrecision, GradientsOfRanksAreAsGoodAsThoseOfOne) {
  for (const MixedCase& one : mixed_cases_without_dropout()) {
    Job job = mixed_job(one, MixedPrecision::bf16, DType::f32, 20);
    // At larger rates the loss of this one doubles any difference with each step, in f32 as well.
    if (one.spec.starts_with("resnet")) job.learning_rate = 1e-4;
    const Arrays best = exact_gradients(one, job);
    const JobResult single = run_job(job);
    expect_whole_sums(single.program);
    for (const int ranks : {2, 3, 4, 8}) {
      if (!can_run(ranks)) continue;
      job.ranks = ranks;
      const JobResult several = run_job(job);
      expect_whole_sums(several.program);
      const std::string what = fmt::format("{} on {} ranks", one.spec, ranks);
      for (const auto& [name, gradient] : several.gradients) {
        const double own = distance(gradient, best.at(name)), size = norm(best.at(name));
        const double of_one = distance(single.gradients.at(name), best.at(name));
        EXPECT_LE(own, 1.25 * of_one + 1e-6 * size) << what << ": " << name;
      }
      expect_near_losses(several, single, 5e-3, what);
    }
  }
}

// With a sharded optimizer the rounded copies of weights are gathered, in place of the weights.
TEST(MixedPrecision, WeightsTravelIn16Bits) {
  for (const char* spec : {"mlp:hidden=64", "gpt:layers=2,hidden=32,heads=4,seq=16,vocab=64"}) {
    for (const int64_t micro_batches : {1, 2}) {
      for (const int level : {1, 2, 3}) {
        Job job = model_job(spec, {.dtype = DType::f32, .image = {1, 8, 8}, .batch = 16, .steps = 1});
        job.training.precision.precision = MixedPrecision::bf16;
        job.ranks = 4;
        job.zero = {.level = level, .threshold = 0};
        job.micro_batches = micro_batches;
        const Program program = compile_job(job);
        int halves = 0;
        for (const Node& node : program.local().graph.nodes) {
          if (!performs(node, Collective::all_gather)) continue;
          const Type& type = program.local().graph.type(node.outputs[0]);
          // Positions are added as they are.
          const bool is_position = type.rank() == 2 && type.shape[0] == 16 && type.shape[1] == 32;
          EXPECT_TRUE(type.dtype == DType::bf16 || type.rank() < 2 || is_position)
              << spec << " level " << level << ": " << node.name << " " << print(type);
          halves += type.dtype == DType::bf16 ? 1 : 0;
        }
        const int weights = static_cast<int>(
            std::count_if(program.graph.states.begin(), program.graph.states.end(), [&](const State& state) {
              return state.kind == StateKind::parameter && program.graph.type(state.entry).rank() == 2 &&
                     program.graph.values[state.entry].name.find("wpe") == std::string::npos;
            }));
        // Level 3 gathers each in the forward pass and again in the backward pass, unless the first layer needs no
        // gradient.
        EXPECT_GE(halves, level == 3 ? 2 * weights - 2 : weights - 1) << spec << " level " << level;
        EXPECT_LE(halves, level == 3 ? 2 * weights : weights) << spec << " level " << level;
      }
    }
  }
}

/// Reductions of a program that move more than a kilobyte, buckets as one, over all stages.
int count_of_reductions(const Program& program) {
  int count = 0;
  for (const StageProgram& stage : program.stages) {
    for (const Instruction& one : stage.schedule.instructions) {
      if (one.kind == Instruction::reduce || one.kind == Instruction::start) count += 1;
      if (one.kind != Instruction::collective) continue;
      count += stage.local.graph.type(stage.local.graph.nodes[one.node].outputs[0]).bytes() > 1024 ? 1 : 0;
    }
  }
  return count;
}

// A check of gradients waits for all of them, so that they are reduced together as without it.
TEST(MixedPrecision, ChecksAddOneReductionAtMost) {
  for (const char* spec : {"mlp:hidden=64", "gpt:layers=2,hidden=32,heads=4,seq=16,vocab=64"}) {
    for (const int stages : {1, 2}) {
      for (const int64_t micro_batches : {1, 4}) {
        for (const int level : {0, 1, 3}) {
          Job job = model_job(spec, {.dtype = DType::f32, .image = {1, 8, 8}, .batch = 16, .steps = 1});
          job.ranks = 4;
          job.pipeline.stages = stages;
          job.micro_batches = micro_batches;
          job.zero = {.level = level, .threshold = 0};
          const int plain = count_of_reductions(compile_job(job));
          job.training.checks_gradients = job.training.scales_loss = true;
          EXPECT_LE(count_of_reductions(compile_job(job)), plain + 2 * stages)
              << spec << ", " << stages << " stages, " << micro_batches << " micro-batches, level " << level;
        }
      }
    }
  }
}

TEST(MixedPrecision, TakesLessMemory) {
  const Job job = model_job("gpt:layers=6,hidden=64,heads=4,seq=64,vocab=64", {.dtype = DType::f32, .batch = 16});
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::fast);
  const auto arena = [&](MixedPrecision precision) {
    TrainingOptions training = job.training;
    training.precision.precision = precision;
    return compile(job.forward, all_ops(), device->catalog(), {.training = training}).schedule().arena_bytes;
  };
  EXPECT_LT(arena(MixedPrecision::bf16), arena(MixedPrecision::f32) * 65 / 100);
}

}  // namespace
}  // namespace partita
