// The central promise: the same numbers on any number of ranks.

#include <gtest/gtest.h>

#include <cmath>

#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

constexpr int kRanks[] = {2, 3, 4, 6, 8};

Job promise_job_of(const std::string& spec, DType dtype, Shape image, int64_t batch, int steps, double rate) {
  return model_job(spec,
                   {.dtype = dtype, .image = std::move(image), .batch = batch, .steps = steps, .learning_rate = rate});
}

void expect_equal_losses(const JobResult& many, const JobResult& one, double tolerance, int ranks) {
  ASSERT_EQ(many.losses.size(), one.losses.size());
  for (size_t step = 0; step < one.losses.size(); ++step) {
    EXPECT_NEAR(many.losses[step], one.losses[step], tolerance * std::max(1.0, std::abs(one.losses[step])))
        << ranks << " ranks, step " << step;
  }
}

void expect_promise(Job job, double tolerance) {
  job.ranks = 1;
  const JobResult one = run_job(job);
  EXPECT_TRUE(std::isfinite(one.losses.back()));
  for (int ranks : kRanks) {
    if (!can_run(ranks)) continue;
    job.ranks = ranks;
    const JobResult many = run_job(job);
    expect_equal_losses(many, one, tolerance, ranks);
    for (const auto& [name, gradient] : one.gradients) {
      const double limit = tolerance < 1e-8 ? 1e-9 : 5e-5;
      EXPECT_LE(relative_error(many.gradients.at(name), gradient), limit) << name << " on " << ranks << " ranks";
    }
  }
}

TEST(Promise, MlpInF64) {
  expect_promise(promise_job_of("mlp:hidden=24,dropout=0.3", DType::f64, {1, 5, 5}, 24, 20, 0.05), 1e-9);
}

TEST(Promise, LenetInF64) {
  expect_promise(promise_job_of("lenet:dropout=0.3", DType::f64, {1, 28, 28}, 24, 20, 0.02), 1e-9);
}

TEST(Promise, Resnet18WithGlobalStatisticsInF64) {
  expect_promise(promise_job_of("resnet18:width=4,size=8,dropout=0.2", DType::f64, {3, 8, 8}, 24, 20, 0.02), 1e-9);
}

TEST(Promise, Resnet50WithGlobalStatisticsInF64) {
  expect_promise(promise_job_of("resnet50:width=2,size=16,dropout=0.2", DType::f64, {3, 16, 16}, 24, 20, 0.02), 1e-9);
}

TEST(Promise, GptInF64) {
  expect_promise(
      promise_job_of("gpt:layers=2,hidden=16,heads=2,seq=8,vocab=12,dropout=0.2", DType::f64, {}, 24, 20, 1e-3), 1e-9);
}

TEST(Promise, MoeInF64) {
  expect_promise(
      promise_job_of("moe:layers=2,hidden=16,heads=2,seq=8,vocab=12,experts=4,capacity=0.75,shared=1,dropout=0.2",
                     DType::f64, {}, 24, 20, 1e-3),
      1e-9);
}

TEST(Promise, LlamaInF64) {
  expect_promise(
      promise_job_of("llama:layers=2,hidden=16,heads=4,kv_heads=2,seq=8,vocab=12", DType::f64, {}, 24, 20, 1e-3), 1e-9);
}

TEST(Promise, BertInF64) {
  expect_promise(promise_job_of("bert:layers=2,hidden=16,heads=2,seq=8,masked=3,vocab=12,dropout=0.2", DType::f64, {},
                                24, 20, 1e-3),
                 1e-9);
}

// The kernels that users run, on sizes at which the reference takes minutes.
TEST(Promise, Resnet18InF64WithFastKernels) {
  Job job = promise_job_of("resnet18:width=16,size=16", DType::f64, {3, 16, 16}, 24, 5, 0.02);
  job.kernels = KernelSet::fast;
  expect_promise(job, 1e-9);
}

TEST(Promise, GptInF64WithFastKernels) {
  Job job = promise_job_of("gpt:layers=2,hidden=48,heads=4,seq=32,vocab=64,dropout=0.2", DType::f64, {}, 24, 20, 1e-3);
  job.kernels = KernelSet::fast;
  expect_promise(job, 1e-9);
}

TEST(Promise, MoeInF64WithFastKernels) {
  Job job =
      promise_job_of("moe:layers=2,hidden=48,heads=4,seq=32,vocab=64,experts=8,shared=1", DType::f64, {}, 24, 10, 1e-3);
  job.kernels = KernelSet::fast;
  expect_promise(job, 1e-9);
}

TEST(Promise, LlamaInF64WithFastKernels) {
  Job job = promise_job_of("llama:layers=2,hidden=48,heads=4,kv_heads=1,seq=32,vocab=64,tied=1", DType::f64, {}, 24, 20,
                           1e-3);
  job.kernels = KernelSet::fast;
  expect_promise(job, 1e-9);
}

TEST(Promise, LlamaInF32) {
  expect_promise(
      promise_job_of("llama:layers=2,hidden=32,heads=4,kv_heads=2,seq=16,vocab=32", DType::f32, {}, 24, 20, 1e-3),
      1e-5);
}

TEST(Promise, GptInF32) {
  expect_promise(promise_job_of("gpt:layers=2,hidden=32,heads=4,seq=16,vocab=32", DType::f32, {}, 24, 20, 1e-3), 1e-5);
}

TEST(Promise, MlpInF32) { expect_promise(promise_job_of("mlp:hidden=64", DType::f32, {1, 8, 8}, 48, 20, 0.02), 1e-5); }

TEST(Promise, LenetInF32) { expect_promise(promise_job_of("lenet", DType::f32, {1, 28, 28}, 48, 20, 0.01), 1e-5); }

TEST(Promise, Resnet18FirstStepInF32) {
  expect_promise(promise_job_of("resnet18:width=16,size=16", DType::f32, {3, 16, 16}, 24, 1, 0.02), 1e-6);
}

TEST(Promise, OneRankEqualsTheInterpreter) {
  for (const char* spec : {"mlp:hidden=24,dropout=0.3", "lenet:dropout=0.3"}) {
    const Job job = promise_job_of(spec, DType::f64, {1, 28, 28}, 6, 3, 0.02);
    const JobResult run = run_job(job), oracle = interpret_job(job);
    expect_equal_losses(run, oracle, 1e-12, 1);
    for (const auto& [name, state] : oracle.states)
      EXPECT_LE(relative_error(run.states.at(name), state), 1e-12) << name;
  }
}

TEST(Promise, DeterministicRunsGiveTheSameBits) {
  Job job = promise_job_of("lenet", DType::f32, {1, 28, 28}, 24, 5, 0.02);
  for (int ranks : {1, 3, 8}) {
    if (!can_run(ranks)) continue;
    job.ranks = ranks;
    const JobResult a = run_job(job), b = run_job(job);
    EXPECT_EQ(a.losses, b.losses);
    for (const auto& [name, state] : a.states) EXPECT_EQ(relative_error(b.states.at(name), state), 0) << name;
  }
}

TEST(Promise, SmallBucketsAndNoOverlapChangeNothing) {
  Job job = promise_job_of("lenet", DType::f64, {1, 28, 28}, 8, 4, 0.02);
  job.ranks = 4;
  const JobResult whole = run_job(job);
  job.schedule = {.bucket_bytes = 4096};
  const JobResult buckets = run_job(job);
  EXPECT_GT(buckets.program.schedule().buckets.size(), whole.program.schedule().buckets.size());
  EXPECT_EQ(buckets.losses, whole.losses);
  job.schedule.overlap = false;
  EXPECT_EQ(run_job(job).losses, whole.losses);
}

TEST(Promise, OnOneRankTheLocalGraphIsTheTrainingGraph) {
  Job job = promise_job_of("resnet18:width=4,size=8", DType::f64, {3, 8, 8}, 4, 1, 0.02);
  const JobResult result = run_job(job);
  EXPECT_EQ(print(result.program.local(), all_ops()), print(result.program.graph));
}

TEST(Promise, EachRankComputesItsShareOnly) {
  Job job = promise_job_of("lenet", DType::f64, {1, 28, 28}, 24, 1, 0.02);
  job.ranks = 6;
  const LocalGraph local = run_job(job).program.local();
  // Every activation with a batch dimension is cut, and so is every node that makes a partial gradient.
  for (size_t n = 0; n < local.graph.nodes.size(); ++n) {
    const Node& node = local.graph.nodes[n];
    if (node.op != "conv2d" && node.op != "matmul" && node.op != "conv2d_grad_filter" && node.op != "relu") continue;
    bool cut = false;
    for (const Axes& axes : local.cuts[n]) cut = cut || local.mesh.ways(axes) == 6;
    EXPECT_TRUE(cut) << node.name;
  }
  EXPECT_EQ(local.type(local.graph.input("image"), local.mesh.coordinates(5)).shape[0], 4);
  EXPECT_EQ(local.type(local.graph.output("logits"), local.mesh.coordinates(0)).shape[0], 4);
}

}  // namespace
}  // namespace partita
