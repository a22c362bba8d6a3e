// Whole training programs under random legal plans: every node cut at random, every input and state sharded at
// random, so that all collectives and reshards stand between them; and under random annotations of nodes. Against
// the interpreter, in f64. PARTITA_PLANS says how many of each model and mesh, in ten steps; by default one, in four.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "compiler/plan/annotations.h"
#include "compiler/search/make_plan.h"
#include "ir/ops/registry.h"
#include "ir/sharding/strategy.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "support/job.h"
#include "support/random_plan.h"
#include "support/ranks.h"

namespace partita {
namespace {

/// The training graph with a random strategy on about half of the nodes that the program wrote, as far as they agree on
/// the parameters that they share.
Graph random_annotations(Graph graph, const Mesh& mesh, uint64_t seed) {
  Dice dice(seed);
  for (Node& node : graph.nodes) {
    if (node.phase != Phase::forward || dice.below(2) == 0) continue;
    const ShardingRule rule = rule_of(graph, node, all_ops());
    const Cut cut = random_cut(rule, mesh, all_ops().at(node.op).expand != nullptr, dice);
    node.annotation = ShardingAnnotation{.inputs = strategy_of(rule, cut, mesh)};
    try {
      partial_plan_of_annotations(graph, Rules(graph, all_ops()), mesh);
    } catch (const InvalidArgument&) {
      node.annotation.reset();
    }
  }
  return graph;
}

const char* const kRandomLlama = "llama:layers=1,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12";

int plans_of_each() {
  const char* wanted = std::getenv("PARTITA_PLANS");
  return wanted == nullptr ? 1 : std::atoi(wanted);
}

Job random_plans_job_of(const std::string& spec, const Shape& image, int64_t batch) {
  return model_job(spec, {.image = image, .batch = batch, .steps = plans_of_each() > 1 ? 10 : 4});
}

void expect_interpreted_of_random_plans(const Job& job, const JobResult& oracle, const std::string& what) {
  const JobResult result = run_job(job);
  expect_same_training(result, oracle, 1e-9, what);
}

const std::vector<Mesh>& meshes() {
  static const std::vector<Mesh> all{Mesh({{"a", 2}, {"b", 2}}), Mesh({{"a", 3}, {"b", 2}}),
                                     Mesh({{"a", 2}, {"b", 2}, {"c", 2}})};
  return all;
}

using MakePlan = std::function<Plan(const Graph&, const Mesh&, uint64_t seed)>;

void expect_plans(Job job, const std::string& kind, const MakePlan& make) {
  const JobResult oracle = interpret_job(job);
  for (const Mesh& mesh : meshes()) {
    if (!can_run(static_cast<int>(mesh.ranks()))) continue;
    for (int seed = 0; seed < plans_of_each(); ++seed) {
      job.mesh = mesh;
      job.ranks = static_cast<int>(mesh.ranks());
      job.plan = [&](const Graph& graph) { return make(graph, mesh, seed); };
      expect_interpreted_of_random_plans(job, oracle, fmt::format("{}, {}, seed {}", kind, print(mesh), seed));
      if (testing::Test::HasFailure()) return;
    }
  }
}

void expect_random_plans(const Job& job) {
  expect_plans(job, "plan", random_plan);
  expect_plans(job, "plan in time", random_plan_in_time);
  const auto under = [](Parallel mode) {
    return [mode](const Graph& graph, const Mesh& mesh, uint64_t seed) {
      return make_plan(random_annotations(graph, mesh, seed), all_ops(), mesh, {.parallel = mode});
    };
  };
  expect_plans(job, "semi", under(Parallel::semi));
  expect_plans(job, "auto", under(Parallel::automatic));
}

TEST(RandomPlans, Mlp) { expect_random_plans(random_plans_job_of("mlp:hidden=12,dropout=0.2", {1, 6, 5}, 12)); }
TEST(RandomPlans, Lenet) { expect_random_plans(random_plans_job_of("lenet:dropout=0.2", {1, 28, 28}, 6)); }
TEST(RandomPlans, Resnet18) { expect_random_plans(random_plans_job_of("resnet18:width=4,size=8", {3, 8, 8}, 24)); }

TEST(RandomPlans, Gpt) {
  expect_random_plans(random_plans_job_of("gpt:layers=1,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2", {}, 6));
}

// Some tokens find no slot with their experts.
constexpr const char* kRandomPlansMoe =
    "moe:layers=1,hidden=8,heads=2,seq=6,vocab=12,experts=4,capacity=0.75,shared=1,dropout=0.2";

TEST(RandomPlans, Moe) { expect_random_plans(random_plans_job_of(kRandomPlansMoe, {}, 6)); }

TEST(RandomPlans, Llama) { expect_random_plans(random_plans_job_of(kRandomLlama, {}, 6)); }

// Norms of three groups run in three micro-batches.
TEST(RandomPlans, ResnetInTime) {
  const TestedJob options{.image = {3, 8, 8}, .batch = 24, .steps = 3, .statistics_groups = 3};
  expect_plans(model_job("resnet18:width=4,size=8", options), "plan in time", random_plan_in_time);
}

// The kernels that users run, on parts of all sizes and windows.
TEST(RandomPlans, OfFastKernels) {
  for (Job job : {random_plans_job_of("lenet:dropout=0.2", {1, 28, 28}, 6),
                  random_plans_job_of("resnet18:width=4,size=8", {3, 8, 8}, 24),
                  random_plans_job_of("gpt:layers=1,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2", {}, 6),
                  random_plans_job_of(kRandomPlansMoe, {}, 6), random_plans_job_of(kRandomLlama, {}, 6)}) {
    job.kernels = KernelSet::fast;
    expect_plans(job, "plan", random_plan);
  }
}

/// A state that a chain of negations fills from an input, each node cut at random.
Graph chain(const Shape& shape) {
  const std::string type = print(Type{DType::f64, shape});
  std::string text = fmt::format("partita graph 1\ngraph chain\ninput %x: {0}\nstate %y: {0} statistic zeros\n", type);
  std::string last = "x";
  for (int i = 0; i < 12; ++i) {
    text += fmt::format("%v{} = neg(%{}) : {}\n", i, last, type);
    last = fmt::format("v{}", i);
  }
  return parse_graph(text + "store %y = %" + last + "\n", all_ops());
}

/// "" or how the state differs from the input, whose sign an even number of negations leaves alone.
std::string chain_under(const Mesh& mesh, const Shape& shape, int seed) {
  const auto catalog = make_cpu_device(all_ops(), 1, KernelSet::reference);
  const Graph graph = chain(shape);
  const Program program =
      compile(graph, all_ops(), catalog->catalog(),
              {.mesh = mesh, .own_plan = [&](const Graph& given, int64_t) { return random_plan(given, mesh, seed); }});
  const Array input = random_array({DType::f64, shape}, random_key(seed, "x"));
  std::atomic<bool> same = true;
  on_ranks(static_cast<int>(mesh.ranks()), [&](Communicator& world) {
    const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
    Executor executor(program.local(), program.schedule(), all_ops(), *device, world);
    Array part(executor.input_type("x"));
    const Sharding& sharding = program.local().shardings[program.local().graph.input("x")];
    copy_part(input.tensor(), local_ranges(input.type(), sharding, mesh, mesh.coordinates(world.rank())), part.data());
    executor.set_input("x", std::as_const(part).tensor());
    executor.run();
    const Array end = executor.state("y");
    if (std::memcmp(end.data(), input.data(), input.type().bytes()) != 0) same = false;
  });
  return same ? "" : print(program.local(), all_ops());
}

/// Bits survive all reshards: nothing but moves stands between the nodes of a chain.
TEST(RandomPlans, ReshardsMoveBits) {
  for (const Mesh& mesh : meshes()) {
    if (!can_run(static_cast<int>(mesh.ranks()))) continue;
    for (const Shape& shape : {Shape{7}, Shape{4, 9}, Shape{6, 5, 8}}) {
      for (int seed = 0; seed < 4 * plans_of_each(); ++seed) {
        EXPECT_EQ(chain_under(mesh, shape, seed), "") << print(mesh) << " " << print(shape) << " seed " << seed;
      }
    }
  }
}

// Four samples a group at least: of two values a norm leaves little but their signs, which no rounding survives.
TEST(RandomPlans, ResnetLocalStatisticsAreThoseOfGroups) {
  for (int ranks : {2, 3, 6}) {
    if (!can_run(ranks)) continue;
    Job job =
        model_job("resnet18:width=4,size=8", {.image = {3, 8, 8}, .batch = 24, .steps = 3, .statistics_groups = ranks});
    const JobResult oracle = interpret_job(job);
    job.ranks = ranks;
    expect_interpreted_of_random_plans(job, oracle, fmt::format("{} ranks", ranks));
  }
}

}  // namespace
}  // namespace partita
