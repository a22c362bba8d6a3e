// States of an executor as a whole and in parts, however they are cut.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "compiler/search/make_plan.h"
#include "ir/ops/registry.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "support/counting_communicator.h"
#include "support/job.h"

namespace partita {
namespace {

/// A state that an annotation cuts, and one that stays whole.
Program program_of(const std::string& type, const std::string& shard, int ranks) {
  const Graph graph = parse_graph(fmt::format(R"(partita graph 1
graph state
state %w: {0} parameter normal(0,1)
state %b: {0} parameter normal(0,1)
%y = relu(%w) : {0} ; forward shard={1}
output y = %y
)",
                                              type, shard),
                                  all_ops());
  const auto device = make_cpu_device(all_ops(), 1);
  return compile(graph, all_ops(), device->catalog(), {.ranks = ranks, .plan = {.parallel = Parallel::semi}});
}

struct StateCase {
  std::string type, shard;
  int ranks;
  int64_t parts;
};

const std::vector<StateCase> kStateCases{
    {"f64[12,5]", "((2,1))", 8, 2},
    {"f64[7,5]", "((3,1))", 6, 3},
    {"f64[7,5]", "((1,4))", 4, 4},
    {"f64[6,10]", "((2,3))", 6, 6},
    {"f64[6,10]", "((2,2))", 8, 4},
    {"f32[1,10,3]", "((1,5,1))", 5, 5},
    {"f64[4,6]", "[a=2,b=2,c=2]((c,a))", 8, 4},
    {"f64[8,6]", "[a=2,b=2,c=2]((c+a,None))", 8, 4},
    {"f64[6,6]", "((1,1))", 4, 1},
};

TEST(States, EveryPartIsGatheredOnce) {
  for (const auto& [type, shard, ranks, parts] : kStateCases) {
    SCOPED_TRACE(fmt::format("{} as {} on {} ranks", type, shard, ranks));
    const Program program = program_of(type, shard, ranks);
    const Array whole = random_array(parse_type(type), random_key(1, "w"));
    const int64_t all = whole.type().bytes(), most = all * (parts - 1) / parts + all / 4;
    run_ranks(ranks, [&](Communicator& world) {
      int64_t bytes = 0;
      CountingCommunicator counting(world, bytes);
      const auto device = make_cpu_device(all_ops(), 1);
      Executor executor(program.local(), program.schedule(), all_ops(), *device, counting);
      executor.set_state("w", whole);
      executor.set_state("b", whole);
      for (const char* name : {"w", "b", "w"}) {
        bytes = 0;
        EXPECT_EQ(relative_error(executor.state(name), whole), 0);
        const bool cut = std::string(name) == "w";
        EXPECT_LE(bytes, cut ? most : 0) << name;
      }
    });
  }
}

TEST(States, EveryPartHasOneOwner) {
  for (const auto& [type, shard, ranks, parts] : kStateCases) {
    SCOPED_TRACE(fmt::format("{} as {} on {} ranks", type, shard, ranks));
    const Program program = program_of(type, shard, ranks);
    const Array whole = random_array(parse_type(type), random_key(1, "w"));
    std::vector<StatePart> seen(ranks);
    run_ranks(ranks, [&](Communicator& world) {
      const auto device = make_cpu_device(all_ops(), 1);
      Executor executor(program.local(), program.schedule(), all_ops(), *device, world);
      executor.set_state("w", whole);
      seen[world.rank()] = executor.state_part("w");
    });
    Array together(whole.type());
    int64_t elements = 0, owners = 0;
    for (const StatePart& part : seen) {
      Array expected(part.values.type());
      copy_part(whole.tensor(), part.box, expected.data());
      EXPECT_EQ(relative_error(part.values, expected), 0);
      if (!part.owned) continue;
      copy_back(part.values.data(), part.box, together.tensor());
      elements += part.values.type().elements();
      ++owners;
    }
    EXPECT_EQ(owners, parts);
    EXPECT_EQ(elements, whole.type().elements());
    EXPECT_EQ(relative_error(together, whole), 0);
  }
}

// Only the first rank gets anything, and of each part one copy.
TEST(States, TheFirstRankGathersThem) {
  for (const auto& [type, shard, ranks, parts] : kStateCases) {
    SCOPED_TRACE(fmt::format("{} as {} on {} ranks", type, shard, ranks));
    const Program program = program_of(type, shard, ranks);
    const Array whole = random_array(parse_type(type), random_key(1, "w"));
    std::vector<int64_t> bytes(ranks, 0);
    run_ranks(ranks, [&](Communicator& world) {
      CountingCommunicator counting(world, bytes[world.rank()]);
      const auto device = make_cpu_device(all_ops(), 1);
      Executor executor(program.local(), program.schedule(), all_ops(), *device, counting);
      for (const char* name : {"w", "b"}) executor.set_state(name, whole);
      const int64_t own = executor.state_part("w").owned ? executor.state_part("w").values.type().bytes() : 0;
      for (const char* name : {"w", "b"}) {
        bytes[world.rank()] = 0;
        const std::optional<Array> gathered = executor.state_on_first(name);
        ASSERT_EQ(gathered.has_value(), world.rank() == 0);
        const bool cut = std::string(name) == "w";
        EXPECT_EQ(bytes[world.rank()], world.rank() == 0 && cut ? whole.type().bytes() - own : 0) << name;
        if (gathered) {
          EXPECT_EQ(relative_error(*gathered, whole), 0);
        }
      }
    });
  }
}

// States of a stage that the first rank does not run are sent by the ranks of that stage.
TEST(States, TheFirstRankGathersThoseOfAllStages) {
  Job job = model_job("gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12", {.batch = 12, .steps = 1});
  for (const auto& [stages, interleave, ranks] : {std::tuple{2, 1, 2}, {3, 1, 5}, {4, 2, 4}}) {
    const auto device = make_cpu_device(all_ops(), 1);
    const Program program = compile(job.forward, all_ops(), device->catalog(),
                                    {.ranks = ranks,
                                     .plan = {.parallel = Parallel::hybrid,
                                              .micro_batches = 2,
                                              .zero = {.level = 3, .threshold = 0},
                                              .pipeline = {.stages = stages, .interleave = interleave}},
                                     .training = job.training});
    const Arrays states = initial_states(program.graph, /*seed=*/3);
    run_ranks(ranks, [&](Communicator& world) {
      const auto own_device = make_cpu_device(all_ops(), 1);
      Executor executor(program.pipeline, program.stages, all_ops(), *own_device, world);
      for (const auto& [name, value] : states) executor.set_state(name, value);
      for (const auto& [name, value] : states) {
        const std::optional<Array> gathered = executor.state_on_first(name);
        ASSERT_EQ(gathered.has_value(), world.rank() == 0);
        if (gathered) {
          EXPECT_EQ(relative_error(*gathered, value), 0) << name;
        }
        EXPECT_EQ(relative_error(executor.state(name), value), 0) << name;
      }
    });
  }
}

}  // namespace
}  // namespace partita
