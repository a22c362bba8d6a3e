// Compute threads of a rank: in f64 their number changes no bit, so that no training, however long, can tell them
// apart.

#include <gtest/gtest.h>

#include <cstring>

#include "ir/ops/registry.h"
#include "ir/optimizers/registry.h"
#include "support/job.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

void expect_same_bits(const std::string& spec, const TestedJob& options, int64_t micro_batches = 1) {
  Job job = model_job(spec, options);
  job.micro_batches = micro_batches;
  job.kernels = KernelSet::fast;
  const JobResult alone = run_job(job);
  for (const int threads : {2, 3}) {
    job.threads = threads;
    const JobResult many = run_job(job);
    EXPECT_EQ(many.losses, alone.losses) << spec << " with " << threads << " threads";
    for (const auto& [name, state] : alone.states) {
      const bool same = std::memcmp(state.data(), many.states.at(name).data(), state.type().bytes()) == 0;
      EXPECT_TRUE(same) << spec << ": " << name << " with " << threads << " threads";
    }
  }
}

// Wide enough for several threads to share every sum, and steps so long that a difference grows.
TEST(Threads, GptInF64HasTheSameBits) {
  expect_same_bits("gpt:layers=2,hidden=64,heads=2,seq=64,vocab=128,dropout=0.1",
                   {.batch = 8, .steps = 6, .learning_rate = 0.1});
}

TEST(Threads, MoeInF64HasTheSameBits) {
  expect_same_bits("moe:layers=2,hidden=64,heads=2,seq=64,vocab=128,experts=4,shared=1",
                   {.batch = 8, .steps = 6, .learning_rate = 0.1});
}

TEST(Threads, MicroBatchesInF64HaveTheSameBits) {
  expect_same_bits("gpt:layers=1,hidden=32,heads=2,seq=32,vocab=64,dropout=0.1", {.batch = 8, .steps = 4}, 4);
}

TEST(Threads, LenetInF64HasTheSameBits) {
  expect_same_bits("lenet:dropout=0.3", {.image = {1, 28, 28}, .batch = 24, .steps = 4, .learning_rate = 0.1});
}

TEST(Threads, Resnet18InF64HasTheSameBits) {
  expect_same_bits("resnet18:width=8,size=16", {.image = {3, 16, 16}, .batch = 24, .steps = 2, .learning_rate = 0.1});
}

// Nor is anything in a program of f64 kept or computed in a smaller float.
TEST(Threads, ProgramsOfF64HaveNoOtherFloats) {
  for (const char* spec :
       {"mlp:dropout=0.1", "lenet:dropout=0.1", "resnet18:width=4,size=16", "resnet50:width=2,size=16",
        "gpt:layers=1,hidden=16,heads=2,seq=8,vocab=12,dropout=0.1", "moe:layers=1,hidden=16,heads=2,seq=8,vocab=12",
        "llama:layers=1,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12", "quickstart"}) {
    for (const OptimizerDef& optimizer : all_optimizers()) {
      const Shape image = make_model(spec).columns().at(0).type.shape;
      Job job = model_job(spec, {.image = image, .batch = 6, .steps = 0});
      job.training.optimizer = {.kind = OptimizerKind(optimizer.name.c_str())};
      job.training.optimizer.clip_norm = 1;
      for (const int ranks : {1, 3}) {
        job.ranks = ranks;
        for (const ValueInfo& value : run_job(job).program.local().graph.values) {
          EXPECT_TRUE(!is_float(value.type.dtype) || value.type.dtype == DType::f64)
              << spec << " with " << optimizer.name << ": " << value.name << " is " << print(value.type);
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita
