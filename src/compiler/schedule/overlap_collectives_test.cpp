#include "compiler/schedule/overlap_collectives.h"

#include <gtest/gtest.h>

#include "compiler/partition/collectives.h"
#include "job/program.h"
#include "runtime/launch/place.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

Program program_of(const std::string& model, int64_t ranks, int64_t level, int64_t micro_batches) {
  const ZooModel zoo = make_model(model);
  JobConfig config = zoo.recipe;
  config.model = model;
  config.training.batch = 2 * ranks * micro_batches;
  config.ranks.count = static_cast<int>(ranks);
  config.plan.options.zero.level = level;
  config.plan.options.micro_batches = micro_batches;
  config = completed(config, Place{.cores = 1});
  return make_program(config, {.network = zoo.network(config.training.loss),
                               .columns = zoo.columns(),
                               .batch = config.training.batch,
                               .ranks = ranks});
}

/// The sums that a schedule scatters.
struct Scattered {
  int64_t largest = 0, max_pending = 0, all = 0;  // bytes of operands: of one, at once, of all
  size_t left = 0;                                // never waited for
  size_t furthest = 0;                            // instructions from a synchronous one's operand to it
};

Scattered scattered_by(const Schedule& schedule, const LocalGraph& local) {
  Scattered found;
  std::map<NodeId, int64_t> pending;
  const std::vector<int> roots = roots_of(schedule);
  std::vector<size_t> makers(roots.size(), 0);
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    const Instruction& one = schedule.instructions[i];
    const bool scatters = one.node >= 0 && one.bucket < 0 && one.kind >= Instruction::collective &&
                          performs(local.graph.nodes[one.node], Collective::reduce_scatter);
    if (scatters && one.kind == Instruction::wait) pending.erase(one.node);
    if (scatters && one.kind != Instruction::wait) {
      const int64_t bytes = schedule.buffers[one.inputs[0]].bytes;
      found.largest = std::max(found.largest, bytes);
      found.all += bytes;
      if (one.kind == Instruction::start && !one.last) pending[one.node] = bytes;
      const size_t maker = makers[roots[one.inputs[0]]];
      if (one.kind == Instruction::collective) found.furthest = std::max(found.furthest, i - maker);
    }
    int64_t sum = 0;
    for (const auto& [node, bytes] : pending) sum += bytes;
    found.max_pending = std::max(found.max_pending, sum);
    for (const int output : one.outputs) makers[roots[output]] = i;
  }
  found.left = pending.size();
  return found;
}

// Whole gradients are released while others are made, so that sharding them saves memory with one micro-batch, too.
TEST(OverlapCollectives, BoundsTheGradientsThatWaitToBeScattered) {
  bool is_bounded = false;
  for (const char* model : {"mlp:layers=8,hidden=1024", "mlp:layers=5,hidden=2048",
                            "gpt:layers=6,hidden=512,heads=4,seq=8,vocab=100", "resnet50:size=32"}) {
    for (const int64_t ranks : {2, 3, 8}) {
      for (const int64_t level : {1, 2, 3}) {
        for (const int64_t micro_batches : {1, 4}) {
          SCOPED_TRACE(fmt::format("{} on {} ranks at level {}, {} micro-batches", model, ranks, level, micro_batches));
          const Program program = program_of(model, ranks, level, micro_batches);
          const Scattered found = scattered_by(program.schedule(), program.stages[0].local);
          EXPECT_GT(found.largest, 0);
          EXPECT_LE(found.max_pending, scattered_bytes(found.largest));
          EXPECT_EQ(found.left, 0U);
          // A change of format and kernels that were chosen for the same node may stand between.
          if (micro_batches == 1) EXPECT_LE(found.furthest, 4U);
          is_bounded |= found.all > scattered_bytes(found.largest) && found.max_pending > 0;
        }
      }
    }
  }
  EXPECT_TRUE(is_bounded) << "the case that it is for";
}

}  // namespace
}  // namespace partita
