// The passes of a compilation, by their names: what each of them writes, and what leaving one out changes.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/test_refusal.h"
#include "frontend/data/readers/test_files.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

using Names = std::vector<std::string>;

Program program_of_passes(const Job& job, const PassOptions& passes, Stage last = Stage::schedule) {
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
  return compile(job.forward, all_ops(), device->catalog(),
                 {.ranks = job.ranks,
                  .plan = {.micro_batches = job.micro_batches, .zero = job.zero, .pipeline = job.pipeline},
                  .schedule = job.schedule,
                  .training = job.training,
                  .passes = passes,
                  .last = last});
}

/// A training with all that has a pass of its own.
Job job_of_all_passes() {
  Job job = model_job("gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12", {.batch = 24, .steps = 2});
  job.ranks = 4;
  job.micro_batches = 2;
  job.zero = {.level = 1, .threshold = 0};
  job.pipeline.stages = 2;
  return job;
}

Names files_of(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) names.insert(entry.path().filename().string());
  }
  return {names.begin(), names.end()};
}

TEST(CompilePasses, EachIsTimedAndDumped) {
  const TempDir folder;
  const Program program = program_of_passes(job_of_all_passes(), {.dump_dir = folder.path().string()});
  Names timed;
  for (const PassTime& pass : program.times) timed.push_back(pass.name);
  EXPECT_EQ(timed, (Names{"graph", "training", "stages", "cuts", "shard_optimizer", "micro_batches", "plan", "reshard",
                          "partition", "order", "schedule"}));
  EXPECT_EQ(files_of(folder.path()), (Names{"1_graph.txt", "2_training.txt", "3_cuts.txt", "3_micro_batches.txt",
                                            "3_plan.txt", "3_shard_optimizer.txt", "3_stages.txt", "4_partition.txt",
                                            "4_reshard.txt", "5_order.txt", "5_schedule.txt"}));
}

TEST(CompilePasses, OfAForwardGraphAlone) {
  const TempDir folder;
  const Job job = model_job("mlp:hidden=12", {.batch = 24});
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
  const PassOptions dumped{.dump_dir = folder.path().string()};
  compile(job.forward, all_ops(), device->catalog(), {.passes = dumped});
  EXPECT_EQ(files_of(folder.path()), (Names{"1_graph.txt", "2_cuts.txt", "2_plan.txt", "2_remove_dead_nodes.txt",
                                            "2_stages.txt", "3_partition.txt", "3_reshard.txt", "4_schedule.txt"}));
  const Program whole = compile(job.forward, all_ops(), device->catalog(),
                                {.passes = {.dump_dir = "", .switched_off = {"remove_dead_nodes"}}});
  EXPECT_EQ(whole.graph.nodes.size(), job.forward.nodes.size());
}

TEST(CompilePasses, LeavingOneOutChangesNoNumbers) {
  Job job = job_of_all_passes();
  if (!can_run(job.ranks)) return;
  const JobResult oracle = interpret_job(job);
  for (const std::string name :
       {"partial_sums", "shard_optimizer", "fold_casts", "pack_reductions", "overlap_collectives"}) {
    Program program = program_of_passes(job, {.dump_dir = "", .switched_off = {name}});
    expect_same_training(run_job(job, std::move(program)), oracle, 1e-9, "without " + name);
  }
}

TEST(CompilePasses, LeavingOneOutDoesIt) {
  Job job = model_job("gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12", {.batch = 24});
  job.ranks = 4;
  job.zero = {.level = 1, .threshold = 0};
  const auto without = [&](const std::string& name) {
    return program_of_passes(job, {.dump_dir = "", .switched_off = {name}});
  };
  const auto bytes_of_states = [](const Program& program) {
    int64_t bytes = 0;
    for (const int buffer : program.schedule().entry) bytes += program.schedule().buffers[buffer].bytes;
    return bytes;
  };
  const Program whole = program_of_passes(job, {});
  EXPECT_LT(bytes_of_states(whole), bytes_of_states(without("shard_optimizer")));
  job.zero = {};
  job.schedule.bucket_bytes = 256;  // several buckets: the first ones start during the backward pass
  const Program replicated = program_of_passes(job, {});
  EXPECT_FALSE(replicated.schedule().buckets.empty());
  EXPECT_TRUE(without("pack_reductions").schedule().buckets.empty());
  const auto starts = [](const Program& program) {
    const auto& list = program.schedule().instructions;
    return std::count_if(list.begin(), list.end(),
                         [](const Instruction& one) { return one.kind == Instruction::start; });
  };
  EXPECT_GT(starts(replicated), 0);
  EXPECT_EQ(starts(without("overlap_collectives")), 0);
}

/// The refusal of a pass that is to be left out, even where the flow ends before it.
std::string refusal_of_leaving_out(const std::string& name, Stage last) {
  return refusal_of([&] { program_of_passes(job_of_all_passes(), {.dump_dir = "", .switched_off = {name}}, last); });
}

TEST(CompilePasses, WhatIsNeededCannotBeLeftOut) {
  const std::string optional =
      "expected one of shard_optimizer partial_sums fold_casts pack_reductions overlap_collectives";
  for (const Stage last : {Stage::graph, Stage::schedule}) {
    for (const std::string name : {"graph", "training", "stages", "cuts", "micro_batches", "plan", "reshard",
                                   "partition", "order", "schedule"}) {
      EXPECT_EQ(refusal_of_leaving_out(name, last),
                fmt::format("[passes] a pass that cannot be switched off, got '{}', {}", name, optional));
    }
    EXPECT_EQ(refusal_of_leaving_out("sums", last), "[passes] unknown pass, got 'sums', " + optional);
    EXPECT_EQ(refusal_of_leaving_out("partial_sum", last),
              fmt::format("[passes] unknown pass, got 'partial_sum', {}, did you mean 'partial_sums'?", optional));
    // A training has no such pass.
    EXPECT_EQ(refusal_of_leaving_out("remove_dead_nodes", last),
              "[passes] unknown pass, got 'remove_dead_nodes', " + optional);
    EXPECT_EQ(refusal_of_leaving_out("partial_sums", last), "accepted");
  }
}

}  // namespace
}  // namespace partita
