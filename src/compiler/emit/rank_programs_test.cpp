#include "compiler/emit/rank_programs.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "compiler/compile.h"
#include "compiler/emit/test_graph.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"

namespace partita {
namespace {

Program staged_program(int64_t ranks, int64_t stages, int64_t micro_batches, Parallel parallel = Parallel::data) {
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  TrainingOptions training;
  training.optimizer = {.kind = OptimizerKind::adamw};
  PlanOptions plan{.parallel = parallel, .micro_batches = micro_batches};
  plan.pipeline.stages = stages;
  Graph graph = parse_graph(kTwoProducts, all_ops());
  for (size_t n = 0; n < graph.nodes.size(); ++n) graph.nodes[n].stage = n < 2 ? 0 : static_cast<int>(stages - 1);
  return compile(graph, all_ops(), device->catalog(), {.ranks = ranks, .plan = plan, .training = training});
}

/// Returns the number of instructions of a stage that are ops of programs.
int64_t ops_in_programs(const StageProgram& stage) {
  const Segmenter segmenter(stage.schedule, stage.local, all_ops());
  int64_t count = 0;
  for (const Instruction& one : stage.schedule.instructions) {
    count += segmenter.in_program(one) && one.kind != Instruction::copy;
  }
  return count;
}

TEST(RankPrograms, HaveEachOpOfTheRanksStagesOnce) {
  for (const int64_t stages : {1, 2}) {
    const Program program = staged_program(/*ranks=*/4, stages, /*micro_batches=*/2);
    ASSERT_EQ(program.stages.size(), static_cast<size_t>(stages));
    for (int64_t rank = 0; rank < 4; ++rank) {
      const auto stage = static_cast<size_t>(rank * stages / 4);
      const RankPrograms found = programs_of_rank(program.pipeline, program.stages, all_ops(), rank);
      std::set<std::string> texts;
      int64_t ops = 0;
      for (const RankProgram& one : found.programs) {
        EXPECT_TRUE(texts.insert(one.text).second);
        EXPECT_EQ(one.stage, static_cast<int>(stage));
        EXPECT_FALSE(one.first.empty() || one.last.empty()) << one.text;
        EXPECT_EQ(one.segments, 1) << "all texts differ";
        ops += one.ops;
      }
      EXPECT_EQ(ops, ops_in_programs(program.stages[stage])) << "rank " << rank;
      EXPECT_EQ(found.host_ops, 0);
      EXPECT_GT(found.messages, 0) << "gradients are reduced over two ranks or more";
    }
  }
  const Program program = staged_program(4, 1, 1);
  EXPECT_THROW(programs_of_rank(program.pipeline, program.stages, all_ops(), 4), InternalError);
  EXPECT_THROW(programs_of_rank(program.pipeline, program.stages, all_ops(), -1), InternalError);
}

TEST(RankPrograms, WholeProgramsHaveTheCollectives) {
  for (const int64_t stages : {1, 2}) {
    const Program program = staged_program(/*ranks=*/4, stages, /*micro_batches=*/1);
    std::set<std::string> texts;
    for (int64_t rank = 0; rank < 4 / stages; ++rank) {
      const RankPrograms cut = programs_of_rank(program.pipeline, program.stages, all_ops(), rank);
      const RankPrograms whole =
          programs_of_rank(program.pipeline, program.stages, all_ops(), rank, CollectiveMode::whole);
      EXPECT_GT(cut.messages, 0);
      EXPECT_EQ(whole.messages, 0);
      EXPECT_LT(whole.programs.size(), cut.programs.size() + cut.messages);
      std::string all;
      for (const RankProgram& one : whole.programs) {
        EXPECT_EQ(one.replicas, 4 / stages);
        all += one.text;
      }
      EXPECT_NE(all.find("stablehlo.all_reduce"), std::string::npos) << all;
      texts.insert(all);
    }
    EXPECT_EQ(texts.size(), 1u) << "all ranks of a stage run one program";
  }
  const Program uneven = staged_program(3, 1, 1, Parallel::hybrid);
  EXPECT_THROW(programs_of_rank(uneven.pipeline, uneven.stages, all_ops(), 0, CollectiveMode::whole), InvalidArgument);
}

TEST(RankPrograms, OneRankSendsNothing) {
  const Program program = staged_program(1, 1, 1);
  const RankPrograms found = programs_of_rank(program.pipeline, program.stages, all_ops(), 0);
  EXPECT_EQ(found.messages, 0);
  ASSERT_FALSE(found.programs.empty());
  EXPECT_NE(found.programs[0].text.find("stablehlo.dot_general"), std::string::npos);
}

}  // namespace
}  // namespace partita
