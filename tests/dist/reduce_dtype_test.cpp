// Sums of gradients that are sent in bf16: each rank rounds its part once, parts are added in f32, the sum is rounded
// once.

#include <gtest/gtest.h>

#include <numeric>

#include "compiler/partition/collectives.h"
#include "compiler/plan/complete_plan.h"
#include "compiler/schedule/communications.h"
#include "compiler/search/make_plan.h"
#include "ir/graph/builder.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"
#include "support/mixed_jobs.h"
#include "support/ranks.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

TEST(ReduceDType, GradientsAreNearThoseOfOneRank) {
  for (const MixedCase& one : mixed_cases_without_dropout()) {
    for (const MixedPrecision precision : {MixedPrecision::f32, MixedPrecision::bf16}) {
      Job job = mixed_job(one, precision, DType::f32, 20);
      // At larger rates the losses of images move apart with each step, in f32 as well.
      if (one.spec.starts_with("resnet")) job.learning_rate = 1e-4;
      if (one.spec == "lenet") job.learning_rate = 2e-3;
      const Arrays best = exact_gradients(one, job);
      const JobResult single = run_job(job);
      job.training.precision.reductions = DType::bf16;
      for (const int ranks : {1, 2, 3, 4, 6, 8}) {
        if (!can_run(ranks)) continue;
        job.ranks = ranks;
        const JobResult several = run_job(job);
        const std::string what = fmt::format("{} in {} on {} ranks", one.spec, name_of(precision), ranks);
        for (const auto& [name, gradient] : several.gradients) {
          const double of_one = distance(single.gradients.at(name), best.at(name)), size = norm(best.at(name));
          // In f32 the rounding of parts and of the sum is all that differs: half a unit in the eighth digit each. The
          // parts of a router's gradient are larger than their sum.
          const double times = name.find("router") == std::string::npos ? 1.5 : 2;
          const double allowed = precision == MixedPrecision::f32 ? size * 0x1p-7 : times * of_one + 1e-6 * size;
          EXPECT_LE(distance(gradient, best.at(name)), ranks == 1 ? of_one : allowed + of_one * 1e-3)
              << what << ": " << name;
          const bool is_sent_in_f32 = ranks == 1 || gradient.type().rank() < 2;
          for (int64_t i = 0; i < gradient.type().elements() && !is_sent_in_f32; ++i) {
            ASSERT_EQ(static_cast<double>(static_cast<float>(bf16(static_cast<float>(gradient.at(i))))), gradient.at(i))
                << what << ": " << name;
          }
        }
        // The loss of 24 images in bf16 changes by up to a percent when their activations round to other neighbours.
        const double apart = one.image.size() == 3 && !one.spec.starts_with("mlp") ? 1.5e-2 : 5e-3;
        expect_near_losses(several, single, apart, what);
        const double sum = std::accumulate(single.losses.begin(), single.losses.end(), 0.0);
        EXPECT_NEAR(std::accumulate(several.losses.begin(), several.losses.end(), 0.0), sum, 5e-3 * sum) << what;
      }
    }
  }
}

TEST(ReduceDType, TrainsUnderLevelsMicroBatchesStagesAndScales) {
  for (const MixedCase& one : mixed_cases_without_dropout()) {
    if (one.spec.starts_with("resnet")) continue;  // statistics are those of a micro-batch
    for (const int level : {0, 1, 2, 3}) {
      for (const int stages : {1, 2}) {
        if (!can_run(4)) continue;
        Job job = mixed_job(one, level % 2 == 0 ? MixedPrecision::bf16 : MixedPrecision::f16, DType::f32, 5);
        if (one.spec == "lenet") job.learning_rate = 2e-3;
        const JobResult single = run_job(job);
        job.ranks = 4;
        job.zero = {.level = level, .threshold = 0};
        job.micro_batches = 2;
        job.pipeline.stages = stages;
        job.training.checks_gradients = level == 3;
        job.training.precision.reductions = DType::bf16;
        expect_near_losses(run_job(job), single, 5e-3, fmt::format("{}, level {}, {} stages", one.spec, level, stages));
      }
    }
  }
}

/// Bytes that the reductions of a program send in bf16 and in f32.
std::pair<int64_t, int64_t> reduced_bytes(const Program& program) {
  std::pair<int64_t, int64_t> bytes;
  for (const StageProgram& stage : program.stages) {
    for (const Node& node : stage.local.graph.nodes) {
      if (!performs(node, Collective::all_reduce) && !performs(node, Collective::reduce_scatter)) continue;
      const Type type = stage.local.largest(node.inputs[0]);
      const std::optional<DType> wire = node.attrs.as<CollectiveAttrs>().wire;
      (wire ? bytes.first : bytes.second) += wire_bytes(type.bytes(), type.dtype, wire);
    }
  }
  return bytes;
}

// All that ranks send of gradients has half the bytes, in one more message at most, and no later.
TEST(ReduceDType, HalvesTheBytesAndKeepsTheOverlap) {
  for (const char* spec : {"mlp:hidden=64", "gpt:layers=2,hidden=32,heads=4,seq=16,vocab=64", "lenet"}) {
    for (const int level : {0, 1, 2, 3}) {
      for (const int64_t micro_batches : {1, 4}) {
        Job job = model_job(spec, {.dtype = DType::f32, .image = {1, 28, 28}, .batch = 16, .steps = 1});
        job.training.precision.precision = MixedPrecision::bf16;
        job.ranks = 4;
        job.zero = {.level = level, .threshold = 0};
        job.micro_batches = micro_batches;
        const Program whole = compile_job(job);
        job.training.precision.reductions = DType::bf16;
        const Program halved = compile_job(job);
        const std::string what = fmt::format("{} at level {}, {} micro-batches", spec, level, micro_batches);
        const auto [none, all] = reduced_bytes(whole);
        const auto [in_bf16, in_f32] = reduced_bytes(halved);
        EXPECT_EQ(none, 0);
        EXPECT_EQ(2 * in_bf16 + in_f32, all) << what;
        EXPECT_LT(in_f32, all / 20) << what << ": only losses, biases and scales";
        const auto before = communications_of(whole.schedule(), whole.local());
        const auto after = communications_of(halved.schedule(), halved.local());
        EXPECT_LE(after.size(), before.size() + 1) << what << ": one more for the loss";
        int hidden_before = 0, hidden_after = 0;
        for (const Communication& one : before) hidden_before += one.is_exposed() ? 0 : 1;
        for (const Communication& one : after) hidden_after += one.is_exposed() ? 0 : 1;
        EXPECT_GE(hidden_after, hidden_before) << what;
        EXPECT_EQ(print(parse_schedule(print(halved.schedule(), halved.local()), halved.local()), halved.local()),
                  print(halved.schedule(), halved.local()));
        EXPECT_EQ(print(parse_local_graph(print(halved.local(), all_ops()), all_ops()), all_ops()),
                  print(halved.local(), all_ops()));
      }
    }
  }
}

// Sums of activations, and of gradients with which the backward pass goes on, keep their digits.
TEST(ReduceDType, SumsOfActivationsKeepTheirDigits) {
  Job job = model_job("gpt:layers=2,hidden=16,heads=4,seq=12,vocab=48", {.dtype = DType::f32, .batch = 8, .steps = 1});
  job.ranks = 4;
  job.mesh = Mesh({{"data", 2}, {"tensor", 2}});
  job.plan = [&](const Graph& graph) {
    return make_plan(graph, all_ops(), job.mesh, {.parallel = Parallel::automatic, .blocks = {.tensor = 2}});
  };
  job.training.precision.reductions = DType::bf16;
  const LocalGraph local = compile_job(job).local();
  int kept = 0, rounded = 0;
  for (const Node& node : local.graph.nodes) {
    if (!performs(node, Collective::all_reduce) && !performs(node, Collective::reduce_scatter)) continue;
    const bool is_rounded = node.attrs.as<CollectiveAttrs>().wire.has_value();
    (is_rounded ? rounded : kept) += 1;
    // Rows times positions times columns: an activation.
    EXPECT_FALSE(is_rounded && local.graph.type(node.inputs[0]).rank() > 2) << node.name;
  }
  EXPECT_GE(rounded, 10);
  EXPECT_GE(kept, 8);
}

// The gradient of a norm over the inputs leads to the update alone, and is yet no gradient of a parameter.
TEST(ReduceDType, GradientsOfActivationsKeepTheirDigitsWhereOnlyParametersNeedThem) {
  Builder builder(all_ops());
  const auto parameter = [&](const char* name, Shape shape) {
    return builder.state(name, {DType::f32, std::move(shape)}, {.kind = StateKind::parameter});
  };
  const Value x = builder.input("x", {DType::f32, {8, 16}}, 0);
  const Value scale = parameter("scale", {16}), bias = parameter("bias", {16}), a = parameter("a", {16, 32}),
              b = parameter("b", {32, 4});
  const Value normed = builder.apply("layer_norm", {x, scale, bias});
  const Value hidden = builder.apply("relu", {builder.apply("matmul", {normed, a})});
  const Value squares = builder.apply("square", {builder.apply("matmul", {hidden, b})});
  builder.output("loss", builder.apply("reduce", {squares}, Attrs(ReduceAttrs{.axes = {0, 1}, .scale = 1.0 / 32})));
  Job job{.forward = builder.take()};
  job.ranks = 4;
  job.mesh = Mesh({{"data", 2}, {"tensor", 2}});
  job.plan = [&](const Graph& graph) {
    PartialPlan partial(graph);
    const Rules rules(graph, all_ops());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (node.op != "matmul" || node.phase != Phase::forward) continue;
      const bool is_first = graph.type(node.outputs[0]).shape[1] == 32;
      Cut cut(rules[n].factors.size());
      for (size_t f = 0; f < cut.size(); ++f) {
        const char name = rules[n].factors[f].name;
        if (name == 'i') cut[f] = {0};
        if (name == (is_first ? 'j' : 'k')) cut[f] = {1};
      }
      partial.cuts[n] = cut;
    }
    return complete_plan(graph, rules, job.mesh, "tensor parallel", partial);
  };
  job.training.precision.reductions = DType::bf16;
  const LocalGraph local = compile_job(job).local();
  int kept = 0, rounded = 0;
  for (const Node& node : local.graph.nodes) {
    if (!performs(node, Collective::all_reduce) || local.graph.type(node.inputs[0]).rank() < 2) continue;
    const bool is_rounded = node.attrs.as<CollectiveAttrs>().wire.has_value();
    EXPECT_EQ(is_rounded, local.graph.type(node.inputs[0]).shape[0] != 8) << node.name;
    (is_rounded ? rounded : kept) += 1;
  }
  EXPECT_EQ(rounded, 2);  // the gradients of a and b
  EXPECT_GE(kept, 2);     // the result of the second product, and the gradient of the norm's result
}

}  // namespace
}  // namespace partita
