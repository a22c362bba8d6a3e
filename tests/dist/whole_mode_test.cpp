// Programs with collectives train as one rank does. They run if PARTITA_PJRT_PLUGIN names a plugin for CPUs
// (tools/xla/get_plugin.sh). On ranks that are processes this is tests/plugins/joined_plugin.cpp, and
// PARTITA_JOINED_PLUGIN names the one for CPUs.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "base/test_refusal.h"
#include "compiler/emit/emit_collective.h"
#include "compiler/search/make_plan.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "support/job.h"
#include "support/matches.h"
#include "support/needs_plugin.h"
#include "support/random_plan.h"
#include "support/ranks.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

class WholeMode : public NeedsPlugin {
 protected:
  void SetUp() override {
    NeedsPlugin::SetUp();
    if (ranks_are_processes() && std::getenv("PARTITA_JOINED_PLUGIN") == nullptr) {
      GTEST_SKIP() << "a plugin that does not join the devices of processes";
    }
  }
};

/// A job of 16 rows, which 2, 4 and 8 ranks cut evenly, or of as many as `batch`.
Job whole_job(const std::string& spec, const Shape& image = {}, int64_t batch = 16) {
  Job job = model_job(spec, {.image = image, .batch = batch, .steps = 3});
  job.device_name = "xla:cpu";
  job.collectives = CollectiveMode::whole;
  return job;
}

struct WholeCase {
  std::string spec;
  Shape image;
  int64_t batch = 16;
};

constexpr const char* kWholeGpt = "gpt:layers=1,hidden=16,heads=4,seq=8,vocab=16,dropout=0.2";

std::vector<WholeCase> whole_cases() {
  return {{"mlp:hidden=16,dropout=0.2", {1, 6, 5}},
          {"lenet", {1, 28, 28}},
          {"resnet18:width=8,size=8", {3, 8, 8}},
          {kWholeGpt, {}},
          {"llama:layers=1,hidden=16,heads=4,kv_heads=2,intermediate=16,seq=8,vocab=16", {}},
          {"moe:layers=1,hidden=16,heads=4,seq=8,vocab=16,experts=8,capacity=0.75,shared=1,dropout=0.2", {}}};
}

/// Networks and batches with sizes that few numbers of ranks divide, so that shards differ.
std::vector<WholeCase> uneven_cases() {
  return {{"mlp:hidden=17,dropout=0.2", {1, 6, 5}, 11},
          {"lenet", {1, 28, 28}, 7},
          {"resnet18:width=7,size=8", {3, 8, 8}, 11},
          {"gpt:layers=1,hidden=15,heads=5,seq=7,vocab=17,dropout=0.2", {}, 11},
          {"llama:layers=1,hidden=18,heads=3,kv_heads=3,intermediate=17,seq=7,vocab=19", {}, 10},
          {"moe:layers=1,hidden=15,heads=5,seq=7,vocab=17,experts=5,capacity=0.75,shared=1", {}, 11}};
}

TEST_F(WholeMode, TrainsAsOneRank) {
  for (const auto& [spec, image, batch] : whole_cases()) {
    Job job = whole_job(spec, image, batch);
    const JobResult oracle = interpret_job(job);
    for (const int ranks : {2, 4, 8}) {
      job.ranks = ranks;
      expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} on {} ranks", spec, ranks));
    }
  }
}

TEST_F(WholeMode, TrainsAsOneRankHoweverWorkIsSplit) {
  Job job = whole_job(kWholeGpt);
  const JobResult oracle = interpret_job(job);
  const auto expect_same = [&](const Job& split, const std::string& what) {
    expect_same_training(run_job(split), oracle, 1e-9, what);
  };
  job.ranks = 4;
  for (const int64_t level : {1, 2, 3}) {
    Job split = job;
    split.zero = {.level = level, .threshold = 0};
    expect_same(split, fmt::format("level {}", level));
    split.micro_batches = 2;
    split.training.recompute = Recompute::full;
    expect_same(split, fmt::format("level {} in micro-batches, recomputed", level));
  }
  for (const bool overlap : {false, true}) {
    Job split = job;
    split.schedule.overlap = overlap;
    split.schedule.pack = !overlap;
    split.micro_batches = 4;
    expect_same(split, fmt::format("overlap {}", overlap));
  }
  for (const Order order : {Order::gpipe, Order::one_forward_one_backward}) {
    Job split = job;
    split.micro_batches = 4;
    split.pipeline = {.stages = 2, .order = order};
    expect_same(split, fmt::format("stages, {}", name_of(order)));
  }
}

int whole_plans_of_each() {
  const char* wanted = std::getenv("PARTITA_PLANS");
  return wanted == nullptr ? 1 : std::atoi(wanted);
}

/// Counts of random plans.
struct PlanCounts {
  int whole = 0, refused = 0;
};

/// Runs a job under random plans, those that whole mode can run. In whole mode the others have to be refused.
void run_random_plans(const WholeCase& one, const std::vector<Mesh>& meshes, PlanCounts& counts) {
  Job job = whole_job(one.spec, one.image, one.batch);
  const JobResult oracle = interpret_job(job);
  for (const Mesh& mesh : meshes) {
    for (int seed = 0; seed < whole_plans_of_each(); ++seed) {
      job.mesh = mesh;
      job.ranks = static_cast<int>(mesh.ranks());
      job.plan = [&](const Graph& graph) { return random_plan_in_time(graph, mesh, static_cast<uint64_t>(seed)); };
      const Program program = compile_job(job);
      const std::string what = fmt::format("{}, {}, seed {}", one.spec, print(mesh), seed);
      if (const auto refusal = refusal_of_whole(program.local())) {
        ++counts.refused;
        if (ranks_are_processes()) continue;  // a process that fails is ended by its launcher
        try {
          run_job(job, program);
          ADD_FAILURE() << what << " runs, although " << *refusal;
        } catch (const InvalidArgument& error) {
          EXPECT_EQ(std::string(error.what()),
                    fmt::format("[collectives] ranks that cannot run one program, got a graph in which {}, expected "
                                "another plan, or --collectives cut",
                                *refusal));
        }
        continue;
      }
      ++counts.whole;
      expect_same_training(run_job(job, program), oracle, 1e-9, what);
    }
  }
}

TEST_F(WholeMode, RandomPlans) {
  PlanCounts counts;
  const std::vector<Mesh> meshes{Mesh({{"a", 2}}), Mesh({{"a", 2}, {"b", 2}}), Mesh({{"a", 2}, {"b", 2}, {"c", 2}})};
  for (const WholeCase& one : whole_cases()) run_random_plans(one, meshes, counts);
  EXPECT_GE(counts.whole, 2 * whole_plans_of_each());
  fmt::print("{} random plans in whole mode, {} refused\n", counts.whole, counts.refused);
}

TEST_F(WholeMode, RandomPlansOfUnevenShards) {
  PlanCounts counts;
  const std::vector<Mesh> meshes{Mesh({{"a", 3}}),
                                 Mesh({{"a", 4}}),
                                 Mesh({{"a", 2}, {"b", 3}}),
                                 Mesh({{"a", 7}}),
                                 Mesh({{"a", 3}}, {2, 0, 1}),
                                 Mesh({{"a", 4}, {"b", 2}})};
  for (const WholeCase& one : uneven_cases()) run_random_plans(one, meshes, counts);
  EXPECT_GE(counts.whole, 10 * whole_plans_of_each());
  fmt::print("{} random plans in whole mode, {} refused\n", counts.whole, counts.refused);
}

/// Data parallelism of rows that the ranks need not divide.
Plan uneven_data_plan(const Graph& graph, int64_t ranks) {
  return make_plan(graph, all_ops(), Mesh({{"data", ranks}}), {.parallel = Parallel::hybrid});
}

TEST_F(WholeMode, TrainsWithUnevenRows) {
  for (const auto& [spec, image, batch] : uneven_cases()) {
    Job job = whole_job(spec, image, batch);
    const JobResult oracle = interpret_job(job);
    for (const int ranks : {3, 6, 8}) {
      job.ranks = ranks;
      for (const int64_t level : {0, 1, 3}) {
        job.zero = {.level = level, .threshold = 0};
        job.plan = [&](const Graph& graph) { return uneven_data_plan(graph, ranks); };
        const Program program = compile_job(job);
        if (const auto refusal = refusal_of_whole(program.local())) {
          ADD_FAILURE() << spec << " on " << ranks << ": " << *refusal;
          continue;
        }
        expect_same_training(run_job(job, program), oracle, 1e-9,
                             fmt::format("{} on {} ranks, level {}", spec, ranks, level));
      }
    }
  }
}

TEST_F(WholeMode, TrainsWithUnevenRowsHoweverWorkIsSplit) {
  const WholeCase gpt = uneven_cases()[3];
  Job job = whole_job(gpt.spec, gpt.image, /*batch=*/14);
  const JobResult oracle = interpret_job(job);
  job.micro_batches = 2;
  for (const int ranks : {3, 6}) {
    for (const Order order : {Order::gpipe, Order::one_forward_one_backward}) {
      Job split = job;
      split.ranks = ranks;
      split.training.recompute = order == Order::gpipe ? Recompute::full : Recompute::none;
      split.zero = {.level = order == Order::gpipe ? 3 : 1, .threshold = 0};
      split.plan = [&](const Graph& graph) { return uneven_data_plan(graph, ranks); };
      const std::string what = fmt::format("{} ranks, {}", ranks, name_of(order));
      expect_same_training(run_job(split), oracle, 1e-9, what);
      if (ranks % 2 != 0) continue;
      split.pipeline = {.stages = 2, .order = order};
      split.plan = nullptr;
      split.stage_plan = uneven_data_plan;
      expect_same_training(run_job(split), oracle, 1e-9, what + ", stages");
    }
  }
}

/// A state that a chain of negations fills from an input.
constexpr std::string_view kWholeChain = R"(partita graph 1
graph chain
input %x: f64[SHAPE]
state %y: f64[SHAPE] statistic zeros
%a = neg(%x) : f64[SHAPE]
%b = neg(%a) : f64[SHAPE]
%c = neg(%b) : f64[SHAPE]
%d = neg(%c) : f64[SHAPE]
%e = neg(%d) : f64[SHAPE]
%f = neg(%e) : f64[SHAPE]
store %y = %f
)";

/// Returns the bytes of the state on rank 0 after a run.
std::vector<double> end_of_chain(const Program& program, CollectiveMode mode, const Array& input) {
  std::vector<double> end;
  on_ranks(static_cast<int>(program.local().mesh.ranks()), [&](Communicator& world) {
    const auto device = make_device(all_ops(), {.name = "xla:cpu", .index = world.rank(), .collectives = mode});
    Executor executor(program.local(), program.schedule(), all_ops(), *device, world);
    Array part(executor.input_type("x"));
    const LocalGraph& local = program.local();
    copy_part(input.tensor(),
              local_ranges(input.type(), local.shardings[local.graph.input("x")], local.mesh,
                           local.mesh.coordinates(world.rank())),
              part.data());
    executor.set_input("x", std::as_const(part).tensor());
    executor.run();
    const Array state = executor.state("y");
    if (world.rank() != 0) return;
    for (int64_t i = 0; i < state.type().elements(); ++i) end.push_back(state.at(i));
  });
  share(end);
  return end;
}

/// Runs a chain on f64 of a shape under random plans, whose moves change no bit.
void run_random_chains(const std::string& shape, const std::vector<Mesh>& meshes) {
  const Graph graph = parse_graph(replace_matches(std::string(kWholeChain), "SHAPE", shape), all_ops());
  const Array input = random_array(graph.type(graph.input("x")), random_key(1, "x"));
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  std::vector<double> expected;
  for (int64_t i = 0; i < input.type().elements(); ++i) expected.push_back(input.at(i));
  std::map<std::string, int> moves;
  for (const Mesh& mesh : meshes) {
    for (int seed = 0; seed < 8 * whole_plans_of_each(); ++seed) {
      const Program program =
          compile(graph, all_ops(), device->catalog(), {.mesh = mesh, .own_plan = [&](const Graph& given, int64_t) {
                                                          return random_plan(given, mesh, static_cast<uint64_t>(seed));
                                                        }});
      if (refusal_of_whole(program.local())) {
        ++moves["refused"];
        continue;
      }
      for (const Node& node : program.local().graph.nodes) {
        if (is_emitted_collective(node, program.local().mesh)) ++moves[node.op];
      }
      EXPECT_EQ(end_of_chain(program, CollectiveMode::whole, input), expected) << print(program.local(), all_ops());
    }
  }
  for (const char* kind : {"all_gather", "all_to_all", "slice_shard", "permute"}) {
    EXPECT_GE(moves[kind], 1) << kind;
    fmt::print("{} {}, ", moves[kind], kind);
  }
  fmt::print("{} refused\n", moves["refused"]);
}

// Nothing but moves stands between the nodes of a chain, so every bit arrives.
TEST_F(WholeMode, ReshardsMoveBits) {
  run_random_chains("8,16,8", {Mesh({{"a", 2}, {"b", 2}}), Mesh({{"a", 2}, {"b", 2}, {"c", 2}})});
}

TEST_F(WholeMode, ReshardsOfUnevenShardsMoveBits) {
  run_random_chains("7,13,9",
                    {Mesh({{"a", 3}}, {1, 2, 0}), Mesh({{"a", 2}, {"b", 3}}), Mesh({{"a", 2}, {"b", 2}, {"c", 2}})});
}

/// The gradient of the weight is the sum of the rows, of which each rank has one: its part is exact.
constexpr std::string_view kSumOfRows = R"(partita graph 1
graph rows
input %x: f32[RANKS,24] batch=0
state %w: f32[24,3] parameter constant(0.5)
%a = matmul(%x, %w) : f32[RANKS,3]
%loss = reduce(%a) {axes=[0,1]} : f32[]
output loss = %loss
)";

// Each rank rounds its part once, parts are added in f32 in the order of the ranks, and the sum is rounded once.
TEST_F(WholeMode, RoundedSumsHaveTheBitsOfCutMode) {
  for (const int ranks : {2, 4, 8}) {
    const std::string text = replace_matches(std::string(kSumOfRows), "RANKS", fmt::format("{}", ranks));
    Job job;
    job.forward = parse_graph(text, all_ops());
    job.training.optimizer = {.kind = OptimizerKind::sgd};
    job.training.precision.reductions = DType::bf16;
    job.states = initial_states(job.forward, /*seed=*/3);
    job.ranks = ranks;
    job.device_name = "xla:cpu";
    Array rows({DType::f32, {ranks, 24}});
    const Array random = random_array(rows.type(), 5);
    // Numbers of many sizes, so that the order of the additions shows.
    for (int64_t i = 0; i < rows.type().elements(); ++i)
      rows.set(i, std::ldexp(random.at(i), static_cast<int>(i % 13)));
    job.batch = [&](int) {
      Arrays batch;
      batch.emplace("x", rows);
      return batch;
    };
    for (const int level : {0, 1, 2, 3}) {
      for (const bool pack : {false, true}) {
        job.zero = {.level = level, .threshold = 0};
        job.schedule.pack = pack;
        job.collectives = CollectiveMode::whole;
        const JobResult whole = run_job(job);
        job.collectives = CollectiveMode::cut;
        const JobResult cut = run_job(job);
        const Array& found = whole.states.at("w");
        for (int64_t i = 0; i < found.type().elements(); ++i) {
          float sum = static_cast<float>(bf16(static_cast<float>(rows.at(i / 3))));
          for (int rank = 1; rank < ranks; ++rank) {
            sum += static_cast<float>(bf16(static_cast<float>(rows.at(rank * 24 + i / 3))));
          }
          const auto gradient = static_cast<float>(bf16(sum));
          const float expected = 0.5F - 0.1F * gradient;
          const std::string what = fmt::format("{} ranks, level {}, packed {}, element {}", ranks, level, pack, i);
          ASSERT_EQ(found.at(i), cut.states.at("w").at(i)) << what;
          ASSERT_NEAR(found.at(i), expected, 1e-6 * std::abs(expected)) << what;
        }
      }
    }
  }
}

TEST_F(WholeMode, TrainsWithRoundedSums) {
  std::vector<WholeCase> cases = whole_cases();
  for (const WholeCase& one : uneven_cases()) cases.push_back(one);
  for (const auto& [spec, image, batch] : cases) {
    if (!spec.starts_with("mlp") && !spec.starts_with("gpt")) continue;
    Job job = model_job(spec, {.dtype = DType::f32, .image = image, .batch = batch, .steps = 3});
    job.device_name = "xla:cpu";
    job.training.precision.reductions = DType::bf16;
    job.ranks = 4;
    job.zero = {.level = batch % 4 == 0 ? 0 : 1, .threshold = 0};
    job.plan = [&](const Graph& graph) { return uneven_data_plan(graph, job.ranks); };
    job.collectives = CollectiveMode::cut;
    const JobResult cut = run_job(job);
    job.collectives = CollectiveMode::whole;
    const JobResult whole = run_job(job);
    for (size_t step = 0; step < cut.losses.size(); ++step) {
      EXPECT_NEAR(whole.losses[step], cut.losses[step], 1e-4 * std::abs(cut.losses[step])) << spec << ", step " << step;
    }
  }
}

constexpr std::string_view kSharedRows = R"(partita graph 1
graph rows
input %x: f64[4,5] batch=0
state %w: f64[5,7] parameter normal(0,1)
%a = matmul(%x, %w) : f64[4,7]
%b = tanh(%a) : f64[4,7]
%loss = reduce(%b) {axes=[0,1]} : f64[]
output loss = %loss
)";
constexpr std::string_view kSharedRowsAndImage = R"(partita graph 1
graph image
input %x: f64[4,5] batch=0
input %image: f64[1,1,6,6]
input %filter: f64[1,1,3,3]
state %w: f64[5,7] parameter normal(0,1)
%a = matmul(%x, %w) : f64[4,7]
%b = tanh(%a) : f64[4,7]
%loss = reduce(%b) {axes=[0,1]} : f64[]
%c = conv2d(%image, %filter) {pads=[1,1,1,1]} : f64[1,1,6,6]
output loss = %loss
output c = %c
)";
constexpr std::string_view kColumnsPlan = R"(partita plan 1
mesh ranks=3
input %x {} {}
input %w {} {ranks}
node a j={ranks}
node b b={ranks}
node loss b={ranks}
)";

// An evaluation that cannot be a program of all ranks has its own copies of states, which have padding in the training.
TEST_F(WholeMode, AnEvaluationInCutModeReadsPaddedStates) {
  if (ranks_are_processes()) GTEST_SKIP() << "tried on ranks that are threads";
  const auto catalog = make_device(all_ops(), {.name = "xla:cpu"});
  const auto compiled = [&](std::string_view text, const std::string& more, const Program* holder) {
    CompileOptions options{.ranks = 3};
    options.own_plan = [&](const Graph& given, int64_t) {
      return parse_plan(std::string(kColumnsPlan) + more, given, all_ops());
    };
    options.holder = holder;
    return compile(parse_graph(std::string(text), all_ops()), all_ops(), catalog->catalog(), options);
  };
  const Program first = compiled(kSharedRows, "", nullptr);
  const Program second = compiled(kSharedRowsAndImage, "node c h={ranks}\n", &first);
  ASSERT_TRUE(second.schedule().is_external(second.schedule().entry[0]));
  ASSERT_FALSE(refusal_of_whole(first.local()));
  ASSERT_TRUE(refusal_of_whole(second.local()));
  const Array x = random_array({DType::f64, {4, 5}}, 3), w = random_array({DType::f64, {5, 7}}, 4);
  double expected = 0;
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 7; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 5; ++k) sum += x.at(i * 5 + k) * w.at(k * 7 + j);
      expected += std::tanh(sum);
    }
  }
  on_ranks(3, [&](Communicator& world) {
    const auto device =
        make_device(all_ops(), {.name = "xla:cpu", .index = world.rank(), .collectives = CollectiveMode::whole});
    Executor holder(first.pipeline, first.stages, all_ops(), *device, world);
    holder.set_state("w", w);
    Executor reader(second.pipeline, second.stages, all_ops(), *device, world, &holder);
    for (const char* name : {"image", "filter"}) {
      const Array zeros(reader.input_type(name));
      reader.set_input(name, zeros.tensor());
    }
    for (Executor* one : {&holder, &reader, &holder, &reader}) {
      one->set_input("x", x.tensor());
      one->run();
      EXPECT_NEAR(one->output("loss").at(0), expected, 1e-12);
    }
  });
}

std::string message_of_training(const Job& job) {
  return refusal_of<Error>([&] { run_job(job); });
}

TEST_F(WholeMode, RefusesRanksThatCannotRunOneProgram) {
  if (ranks_are_processes()) GTEST_SKIP() << "a process that fails is ended by its launcher";
  Job job = model_job("mlp:hidden=18", {.image = {1, 6, 5}, .batch = 18});
  job.device_name = "xla:cpu";
  job.collectives = CollectiveMode::whole;
  job.ranks = 9;
  EXPECT_EQ(
      message_of_training(job),
      "[collectives] ranks that share a device, got 9 ranks on 8 of 8 devices, expected a device for each and no index "
      "in --device, or --collectives cut");
  job.collectives = CollectiveMode::cut;
  EXPECT_EQ(message_of_training(job), "accepted");
  // Each stage has devices enough, but the stages would share them.
  Job staged = whole_job(kWholeGpt);
  staged.ranks = 16;
  staged.micro_batches = 2;
  staged.pipeline = {.stages = 2, .order = Order::gpipe};
  EXPECT_EQ(message_of_training(staged),
            "[collectives] ranks that share a device, got 16 ranks on 8 of 8 devices, expected a device for each and "
            "no index "
            "in --device, or --collectives cut");
}

TEST_F(WholeMode, ABadNumberNamesItsNode) {
  if (ranks_are_processes()) GTEST_SKIP() << "a process that fails is ended by its launcher";
  Job job = whole_job("mlp:hidden=16", {1, 6, 5});
  const std::function<Arrays(int)> rows = job.batch;
  job.batch = [&](int step) {
    Arrays batch = rows(step);
    if (step == 1) batch.at("image").set(0, NAN);
    return batch;
  };
  job.ranks = 4;
  const std::string whole = message_of_training(job);
  job.collectives = CollectiveMode::cut;
  EXPECT_EQ(message_of_training(job), whole);
  EXPECT_NE(whole.find("first made by "), std::string::npos) << whole;
  EXPECT_NE(whole.find(" on rank 0"), std::string::npos) << whole;
}

}  // namespace
}  // namespace partita
