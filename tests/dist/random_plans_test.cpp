// Whole training programs under random legal plans: every node cut at random, every input and state sharded at
// random, so that all collectives and reshards stand between them; against the interpreter, in f64.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "ops/registry.h"
#include "support/job.h"

namespace partita {
namespace {

class Dice {
 public:
  explicit Dice(uint64_t seed) : key_(random_key(seed, "plan")) {}
  int64_t below(int64_t count) { return static_cast<int64_t>(random_below(key_, at_++, 0, count)); }

 private:
  uint64_t key_;
  uint64_t at_ = 0;
};

/// Each axis on a random factor or on none; no cut after some bad luck.
Cut random_cut(const ShardingRule& rule, const Mesh& mesh, bool expandable, Dice& dice) {
  const Cut none(rule.factors.size());
  for (int attempt = 0; attempt < 12 && !rule.factors.empty(); ++attempt) {
    Cut cut = none;
    for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
      if (dice.below(4) > 0) cut[dice.below(static_cast<int64_t>(cut.size()))].push_back(static_cast<int>(axis));
    }
    if (illegal(rule, cut, mesh).empty() && (expandable || !needs_expansion(rule, cut))) return cut;
  }
  return none;
}

std::vector<Axes> random_dims(const Type& type, const Mesh& mesh, Dice& dice) {
  std::vector<Axes> dims(type.shape.size());
  for (size_t axis = 0; axis < mesh.axes().size() && !dims.empty(); ++axis) {
    Axes& axes = dims[dice.below(static_cast<int64_t>(dims.size()))];
    if (dice.below(2) == 0) continue;
    axes.push_back(static_cast<int>(axis));
    if (mesh.ways(axes) > type.shape[&axes - dims.data()]) axes.pop_back();
  }
  return dims;
}

Plan random_plan(const Graph& graph, const Mesh& mesh, uint64_t seed) {
  Dice dice(seed);
  Plan plan{.graph = graph.name, .search = "random", .mesh = mesh, .inputs = {}, .cuts = {}, .results = {}};
  for (const Input& input : graph.inputs) plan.inputs.push_back(random_dims(graph.type(input.value), mesh, dice));
  for (const State& state : graph.states) plan.inputs.push_back(random_dims(graph.type(state.entry), mesh, dice));
  for (const Node& node : graph.nodes) {
    const bool expandable = all_ops().at(node.op).expand != nullptr;
    plan.cuts.push_back(random_cut(rule_of(graph, node, all_ops()), mesh, expandable, dice));
  }
  return plan;
}

Job job_of(const std::string& spec, const Shape& image, int64_t batch, int64_t norm_groups = 1) {
  return model_job(spec, {.image = image, .batch = batch, .steps = 3, .norm_groups = norm_groups});
}

void expect_interpreted(const Job& job, const JobResult& oracle, const std::string& what) {
  const JobResult result = run_job(job);
  for (size_t step = 0; step < oracle.losses.size(); ++step) {
    EXPECT_NEAR(result.losses[step], oracle.losses[step], 1e-9 * std::abs(oracle.losses[step])) << what;
  }
  for (const auto& [name, value] : oracle.states) {
    EXPECT_LE(relative_error(result.states.at(name), value), 1e-8) << what << ", state " << name;
  }
}

const std::vector<Mesh>& meshes() {
  static const std::vector<Mesh> all{Mesh({{"a", 2}}), Mesh({{"a", 3}}), Mesh({{"a", 2}, {"b", 2}}),
                                     Mesh({{"a", 3}, {"b", 2}}), Mesh({{"a", 2}, {"b", 2}, {"c", 2}})};
  return all;
}

void expect_random_plans(Job job, int plans) {
  const JobResult oracle = interpret_job(job);
  for (const Mesh& mesh : meshes()) {
    for (int seed = 0; seed < plans; ++seed) {
      job.mesh = mesh;
      job.ranks = static_cast<int>(mesh.ranks());
      job.plan = [&](const Graph& graph) { return random_plan(graph, mesh, seed); };
      expect_interpreted(job, oracle, fmt::format("{}, seed {}", print(mesh), seed));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(RandomPlans, Mlp) { expect_random_plans(job_of("mlp:hidden=12,dropout=0.2", {1, 6, 5}, 12), 6); }
TEST(RandomPlans, Lenet) { expect_random_plans(job_of("lenet:dropout=0.2", {1, 28, 28}, 6), 1); }
TEST(RandomPlans, Resnet18) { expect_random_plans(job_of("resnet18:width=4,size=8", {3, 8, 8}, 6), 2); }

TEST(RandomPlans, Gpt) {
  expect_random_plans(job_of("gpt:layers=1,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2", {}, 6), 4);
}

// Four samples a group at least: of two values a norm leaves little but their signs, which no rounding survives.
TEST(RandomPlans, ResnetLocalStatisticsAreThoseOfGroups) {
  for (int ranks : {2, 3, 6}) {
    Job job = job_of("resnet18:width=4,size=8", {3, 8, 8}, 24, /*norm_groups=*/ranks);
    const JobResult oracle = interpret_job(job);
    job.ranks = ranks;
    expect_interpreted(job, oracle, fmt::format("{} ranks", ranks));
  }
}

}  // namespace
}  // namespace partita
