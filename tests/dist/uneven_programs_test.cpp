// Programs of ranks whose shards differ in size, with a plugin that computes nothing: what it takes and gives.

#include <gtest/gtest.h>

#include <set>

#include "compiler/emit/emit_collective.h"
#include "compiler/emit/segments.h"
#include "compiler/search/make_plan.h"
#include "runtime/launch/place.h"
#include "support/fake_accelerated.h"
#include "support/matches.h"
#include "support/random_plan.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

class UnevenPrograms : public FakeAccelerated {
 protected:
  Job uneven_job(const std::string& spec, DType dtype = DType::f64) {
    Job job = model_job(spec, {.dtype = dtype, .image = {1, 5, 3}, .batch = 7, .steps = 2});
    job.device = whole_job().device;
    job.collectives = CollectiveMode::whole;
    job.ranks = 2;
    job.mesh = Mesh({{"data", 2}});
    job.plan = [mesh = job.mesh](const Graph& graph) {
      return make_plan(graph, all_ops(), mesh, {.parallel = Parallel::hybrid});
    };
    return job;
  }
  static std::string text_of(const Program& program, int64_t rank) {
    const Segmenter segmenter(program.schedule(), program.local(), all_ops(), CollectiveMode::whole);
    std::string all;
    for (const Segment& segment : segmenter.segments({})) {
      for (const std::string& text : segmenter.modules_of(segment, rank)) all += text;
    }
    return all;
  }
};

// A program that computes nothing gives states as it takes them.
TEST_F(UnevenPrograms, StatesGoToTheDeviceAndBackInBits) {
  int padded = 0;
  for (const int64_t level : {0, 1, 3}) {
    Job job = uneven_job("mlp:hidden=9");
    job.zero = {.level = level, .threshold = 0};
    const Program program = compile_job(job);
    for (const State& state : program.local().graph.states) {
      const Type largest = program.local().largest(state.entry);
      padded += program.local().type(state.entry, program.local().mesh.coordinates(0)) != largest;
    }
    const JobResult result = run_job(job, program);
    ASSERT_FALSE(job.states.empty());
    for (const auto& [name, initial] : job.states) {
      EXPECT_EQ(relative_error(result.states.at(name), initial), 0) << name << ", level " << level;
    }
  }
  EXPECT_GE(padded, 10);
}

TEST_F(UnevenPrograms, RanksHaveOneText) {
  Job job = uneven_job("gpt:layers=1,hidden=15,heads=5,seq=7,vocab=17");
  int whole = 0;
  for (const int ranks : {2, 3, 5}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      job.ranks = ranks;
      job.mesh = Mesh({{"a", ranks}});
      job.plan = [&](const Graph& graph) { return random_plan_in_time(graph, job.mesh, seed); };
      const Program program = compile_job(job);
      if (refusal_of_whole(program.local())) continue;
      ++whole;
      std::set<std::string> texts;
      for (int64_t rank = 0; rank < ranks; ++rank) texts.insert(text_of(program, rank));
      EXPECT_EQ(texts.size(), 1) << ranks << " ranks, seed " << seed;
    }
  }
  EXPECT_GE(whole, 6);
}

// Where a dropout, a part of a table or a part of a sequence begins is data.
TEST_F(UnevenPrograms, RanksNeedNoBranches) {
  const auto count = [](const JobConfig& config) {
    const Program program = ZooJob(config, Place{.cores = 2}).program(Purpose::training);
    const std::string text = text_of(program, 0);
    EXPECT_NE(text.find("replica_id"), std::string::npos) << config.model;
    return matches_of(text, "stablehlo\\.case").size();
  };
  JobConfig config = configured("gpt:layers=1,hidden=16,heads=4,seq=8,vocab=17,dropout=0.2", {});
  config.training.batch = 12;
  config.ranks = {.count = 4, .threads = 1, .device = "xla:cpu", .collectives = CollectiveChoice::whole};
  EXPECT_EQ(count(config), 0) << "data parallelism";
  config.plan.options.parallel = Parallel::automatic;
  config.plan.options.blocks.tensor = 2;
  EXPECT_EQ(count(config), 0) << "a table of 17 words in two parts";
  config.plan.options.blocks = {.context = 2};
  EXPECT_EQ(count(config), 0) << "sequences in two parts";
}

// Casts around a product are folded into it, in programs of all ranks as in those of one.
TEST_F(UnevenPrograms, ProductsTakeOperandsOf16Bits) {
  for (const char* spec :
       {"gpt:layers=1,hidden=16,heads=4,seq=8,vocab=16", "gpt:layers=1,hidden=15,heads=5,seq=7,vocab=17"}) {
    Job job = uneven_job(spec, DType::f32);
    job.training.precision.precision = MixedPrecision::bf16;
    const std::string text = text_of(compile_job(job), 0);
    EXPECT_GE(matches_of(text, "dot_general ").size(), 10);
    EXPECT_EQ(matches_of(text, "dot_general ").size(),
              matches_of(text, R"(dot_general [^\n]*bf16>, tensor<[0-9x]*bf16>\))").size())
        << text;
  }
}

}  // namespace
}  // namespace partita
