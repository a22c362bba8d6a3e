#include "compiler/emit/rank_programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "compiler/compile.h"
#include "compiler/emit/test_graph.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"
#include "support/texts/texts.h"

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
      EXPECT_EQ(found.sent, stages - 1) << "an activation, or its gradient";
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
  std::set<std::string> texts;
  for (int64_t rank = 0; rank < 3; ++rank) {
    const auto found = programs_of_rank(uneven.pipeline, uneven.stages, all_ops(), rank, CollectiveMode::whole);
    ASSERT_EQ(found.programs.size(), 1u);
    texts.insert(found.programs[0].text);
    EXPECT_EQ(found.programs[0].held.values, 3 * 6 * 8 + 2 * 8) << "the most rows, the rate and the loss";
  }
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts.begin()->find("%arg0: tensor<3x6xf64>"), std::string::npos) << *texts.begin();
  EXPECT_NE(texts.begin()->find("dense<[2, 3, 3]> : tensor<3xi32>"), std::string::npos) << "rows of each rank";
}

/// Whether a place of a stage is written, or there from the start, before instruction `end`, and read from `begin` on
/// or after the step.
bool is_held(const StageProgram& stage, const Segmenter& segmenter, int place, size_t begin, size_t end) {
  const Schedule& schedule = stage.schedule;
  const auto is_at = [&](const std::vector<int>& buffers) {
    return std::ranges::any_of(
        buffers, [&](int buffer) { return buffer >= 0 && segmenter.places()[static_cast<size_t>(buffer)] == place; });
  };
  bool is_there = is_at(schedule.outputs) || is_at(schedule.inputs), is_used = is_there;
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    const Instruction& one = schedule.instructions[i];
    if (!is_at(one.inputs) && !is_at(one.outputs)) continue;
    is_there = is_there || i < end;
    is_used = is_used || i >= begin;
  }
  return is_there && is_used;
}

// A program needs on the device what is used before it or in it, and in it or later. Inputs and outputs stay from
// step to step.
TEST(RankPrograms, HoldWhatIsUsedLater) {
  const Program program = staged_program(/*ranks=*/1, /*stages=*/1, /*micro_batches=*/1);
  const StageProgram& stage = program.stages[0];
  for (const Guarding guarding : {Guarding::none, Guarding::where_possible}) {
    const Segmenter segmenter(stage.schedule, stage.local, all_ops(), CollectiveMode::cut, guarding);
    const std::vector<Segment> segments = segmenter.segments(borders_of(program.pipeline, program.stages, 0));
    const std::vector<int64_t> first = stage.local.mesh.coordinates(0);
    const std::vector<HeldBytes> held = held_bytes(segmenter, segments, first);
    ASSERT_EQ(held.size(), segments.size());
    ASSERT_EQ(segments.size() == 1, guarding == Guarding::where_possible);
    std::set<int> states;
    for (const int entry : stage.schedule.entry) states.insert(segmenter.places()[static_cast<size_t>(entry)]);
    int64_t bytes_of_states = 0;
    for (const State& state : stage.local.graph.states) bytes_of_states += stage.local.type(state.entry, first).bytes();
    for (size_t k = 0; k < segments.size(); ++k) {
      EXPECT_EQ(held[k].states, bytes_of_states);
      int64_t values = 0;
      for (int buffer = 0; buffer < static_cast<int>(stage.schedule.buffers.size()); ++buffer) {
        if (segmenter.places()[static_cast<size_t>(buffer)] != buffer || states.contains(buffer)) continue;
        // Values between the instructions of one program are its temporaries.
        const bool is_inside = std::ranges::none_of(segments, [&](const Segment& one) {
          return std::ranges::count(one.inputs, buffer) + std::ranges::count(one.outputs, buffer) > 0;
        });
        if (is_inside || !is_held(stage, segmenter, buffer, segments[k].begin, segments[k].end)) continue;
        values += stage.local.type(stage.schedule.buffers[static_cast<size_t>(buffer)].value, first).bytes();
      }
      EXPECT_EQ(held[k].values, values) << "program " << k;
    }
    if (guarding == Guarding::none) continue;
    const RankPrograms found = programs_of_rank(program.pipeline, program.stages, all_ops(), 0);
    ASSERT_EQ(found.programs.size(), held.size());
    for (size_t k = 0; k < held.size(); ++k) {
      EXPECT_EQ(found.programs[k].held.states, held[k].states);
      EXPECT_EQ(found.programs[k].held.values, held[k].values);
    }
  }
}

/// Compiles a graph for accelerators by the text of its plan.
Program planned_program(std::string_view graph, const std::string& plan) {
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  return compile(
      parse_graph(std::string(graph), all_ops()), all_ops(), device->catalog(),
      {.ranks = 2, .own_plan = [&](const Graph& given, int64_t) { return parse_plan(plan, given, all_ops()); }});
}

// Rows are cut, then columns, then rows again.
TEST(RankPrograms, AnEqualTextIsOneProgram) {
  const Program program = planned_program(R"(partita graph 1
graph chain
input %x: f64[4,4]
%a = neg(%x) : f64[4,4]
%b = neg(%a) : f64[4,4]
%c = neg(%b) : f64[4,4]
output c = %c
)",
                                          R"(partita plan 1
mesh data=2
input %x {data} {}
node a a={data}
node b b={data}
node c a={data}
output c {data} {}
)");
  const RankPrograms found = programs_of_rank(program.pipeline, program.stages, all_ops(), 0);
  ASSERT_EQ(found.programs.size(), 2u);
  EXPECT_EQ(found.programs[0].segments, 2);
  EXPECT_EQ(found.programs[1].segments, 1);
  EXPECT_EQ(found.messages, 2);
}

TEST(RankPrograms, WholeModeRefusesPartsOfNeighbours) {
  const Program program = planned_program(R"(partita graph 1
graph images
input %x: f32[1,3,16,16]
state %w: f32[4,3,3,3] parameter
%conv = conv2d(%x, %w) {pads=[1,1,1,1]}
output conv = %conv
)",
                                          R"(partita plan 1
mesh data=2
input %x {} {} {data} {}
node conv h={data}
output conv {} {} {data} {}
)");
  try {
    programs_of_rank(program.pipeline, program.stages, all_ops(), 0, CollectiveMode::whole);
    ADD_FAILURE() << "no refusal";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "[collectives] ranks that cannot run one program, got a graph in which x.halo_exchange "
                 "(halo_exchange) moves parts that no operation of StableHLO moves, expected another plan, or "
                 "--collectives cut");
  }
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
