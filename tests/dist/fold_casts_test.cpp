// Products that take and make 16 bits without casts compute the numbers of products between casts.

#include "compiler/schedule/fold_casts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/job.h"
#include "support/mixing_device.h"
#include "support/ranks.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

struct FoldCase {
  std::string spec;
  Shape image;
  int64_t batch = 12;
};

const FoldCase kFoldCases[] = {
    {"mlp:hidden=12,dropout=0.2", {1, 6, 5}},
    {"lenet", {1, 28, 28}},
    {"resnet18:width=4,size=8", {3, 8, 8}},
    {"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2", {}},
    {"llama:layers=2,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12", {}},
    {"moe:layers=2,hidden=8,heads=4,seq=6,vocab=12,experts=4,capacity=0.75,shared=1", {}},
};

Job fold_job(const FoldCase& one, KernelSet kernels) {
  Job job = model_job(one.spec, {.dtype = DType::f32, .image = one.image, .batch = one.batch, .steps = 4});
  job.training.precision.precision = MixedPrecision::bf16;
  job.kernels = kernels;
  job.device = make_mixing_device;
  return job;
}

int64_t count_of(const Program& program, const std::function<bool(const Node&, const Instruction&)>& counts) {
  int64_t count = 0;
  for (const StageProgram& stage : program.stages) {
    for (const Instruction& instruction : stage.schedule.instructions) {
      if (instruction.kind != Instruction::compute) continue;
      count += counts(stage.local.graph.nodes[static_cast<size_t>(instruction.node)], instruction) ? 1 : 0;
    }
  }
  return count;
}

int64_t casts_of(const Program& program) {
  return count_of(program, [](const Node& node, const Instruction&) { return node.op == "cast"; });
}

int64_t mixing_of(const Program& program) {
  return count_of(program, [](const Node&, const Instruction& instruction) {
    return instruction.choice.kernel.starts_with("mixing.");
  });
}

/// The products that take operands of 16 bits, next to those in attention, which also takes them on other processors.
int64_t halved_products_of(const Program& program) {
  int64_t count = 0;
  for (const StageProgram& stage : program.stages) {
    for (const Instruction& instruction : stage.schedule.instructions) {
      const std::string& kernel = instruction.choice.kernel;
      if (!kernel.starts_with("onednn.") || kernel == "onednn.attention") continue;
      const ValueId operand = stage.schedule.buffers[instruction.inputs.at(0)].value;
      count += stage.local.graph.type(operand).dtype == DType::bf16 ? 1 : 0;
    }
  }
  return count;
}

/// Runs a job with and without folding, and compares losses and states.
void expect_folded_alike(Job job, double tolerance, const std::string& what) {
  const JobResult folded = run_job(job);
  job.switched_off = {"fold_casts"};
  const JobResult plain = run_job(job);
  EXPECT_EQ(mixing_of(plain.program), 0) << what;
  EXPECT_GT(mixing_of(folded.program), 3) << what;
  EXPECT_LE(casts_of(folded.program) + mixing_of(folded.program), casts_of(plain.program)) << what;
  expect_same_training(folded, plain, tolerance, what);
  for (const StageProgram& stage : folded.program.stages) {
    const std::string text = print(stage.schedule, stage.local);
    EXPECT_EQ(print(parse_schedule(text, stage.local), stage.local), text) << what;
  }
}

TEST(FoldCasts, ComputesTheSameBits) {
  for (const FoldCase& one : kFoldCases) {
    for (const int ranks : {1, 2}) {
      if (!can_run(ranks)) continue;
      Job job = fold_job(one, KernelSet::reference);
      job.ranks = ranks;
      expect_folded_alike(job, 0, fmt::format("{} on {} ranks", one.spec, ranks));
    }
  }
}

TEST(FoldCasts, ComputesTheSameBitsUnderMicroBatchesLevelsAndRecomputation) {
  for (const FoldCase& one : kFoldCases) {
    if (one.spec.starts_with("resnet") || !can_run(2)) continue;
    for (const int level : {1, 2, 3}) {
      Job job = fold_job(one, KernelSet::reference);
      job.ranks = 2;
      job.micro_batches = 2;
      job.zero = {.level = level, .threshold = 0};
      job.training.recompute = level == 2 && one.image.empty() ? Recompute::full : Recompute::none;
      expect_folded_alike(job, 0, fmt::format("{} at level {}", one.spec, level));
    }
  }
}

TEST(FoldCasts, ComputesTheSameBitsInStages) {
  if (!can_run(2)) return;
  for (const FoldCase& one : kFoldCases) {
    if (!one.spec.starts_with("gpt") && !one.spec.starts_with("llama")) continue;
    Job job = fold_job(one, KernelSet::reference);
    job.ranks = 2;
    job.pipeline.stages = 2;
    job.micro_batches = 3;
    expect_folded_alike(job, 0, one.spec + " in two stages");
  }
}

// Kernels of f32 may prefer other memory formats than those that mix types, and add in another order.
TEST(FoldCasts, IsAsGoodInMemoryFormatsOfTheDevice) {
  for (const FoldCase& one : kFoldCases) expect_folded_alike(fold_job(one, KernelSet::fast), 0.02, one.spec);
}

TEST(FoldCasts, IsAsGoodByInstructionsOfTheProcessor) {
  for (const FoldCase& one : kFoldCases) {
    for (const int threads : {1, 3}) {
      Job job = fold_job(one, KernelSet::fast);
      job.device = nullptr;
      job.threads = threads;
      const JobResult folded = run_job(job);
      job.switched_off = {"fold_casts"};
      const JobResult plain = run_job(job);
      EXPECT_LT(casts_of(folded.program), casts_of(plain.program)) << one.spec;
      const std::string what = fmt::format("{} on {} threads", one.spec, threads);
      if (halved_products_of(folded.program) == 0) {  // loops alone take 16 bits, with the bits of casts
        expect_same_training(folded, plain, 0, what);
        continue;
      }
      if (!what.starts_with("resnet")) {
        expect_same_training(folded, plain, 0.02, what);
        continue;
      }
      // Batch norms of few values enlarge each rounding: from the second step on, trainings move apart.
      EXPECT_NEAR(folded.losses[0], plain.losses[0], 0.02 * plain.losses[0]) << what;
    }
  }
}

}  // namespace
}  // namespace partita
