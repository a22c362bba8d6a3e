#include "compiler/search/plain_graph.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/partition/collectives.h"
#include "compiler/search/plan_costs.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

Graph forward_to_plan(const std::string& spec, DType dtype = DType::f32) {
  const ZooModel model = make_model(spec);
  return build_graph(model.network(model.recipe.training.loss), all_ops(),
                     {.batch = 8, .columns = model.columns(dtype), .dtype = dtype});
}

const char* kPlannedGpt = "gpt:layers=2,hidden=16,heads=4,seq=8,vocab=24";

TEST(PlainGraph, HasNoRoundings) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Residual residual : {Residual::half, Residual::f32}) {
      const auto training = [&](const PrecisionOptions& precision) {
        return make_training_graph(forward_to_plan(kPlannedGpt, dtype), all_ops(), {.precision = precision}).graph;
      };
      const Graph mixed = training(
          {.precision = MixedPrecision::bf16, .layers = {{"net/h/1", MixedPrecision::f16}}, .residual = residual});
      EXPECT_TRUE(has_roundings(mixed, all_ops()));
      EXPECT_EQ(print(without_roundings(mixed, all_ops())), print(training({})));
      EXPECT_FALSE(has_roundings(training({}), all_ops()));
    }
  }
}

// A cast whose result another op uses in 16 bits is part of the network.
TEST(PlainGraph, CastsOfTheNetworkStay) {
  Builder builder(all_ops());
  const Value x = builder.input("x", Type{DType::f32, {4}});
  const Value half = builder.apply("cast", {x}, Attrs(CastAttrs{DType::bf16}));
  builder.output("y", builder.apply("cast", {builder.apply("add", {half, half})}, Attrs(CastAttrs{DType::f32})));
  builder.output("half", builder.apply("cast", {x}, Attrs(CastAttrs{DType::f16})));
  EXPECT_FALSE(has_roundings(builder.graph(), all_ops()));
}

Program planned(const std::string& spec, int64_t ranks, const PlanOptions& plan, MixedPrecision precision,
                Recompute recompute = Recompute::none) {
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
  return compile(forward_to_plan(spec), all_ops(), device->catalog(),
                 {.ranks = ranks,
                  .plan = plan,
                  .training = TrainingOptions{.recompute = recompute, .precision = {.precision = precision}},
                  .last = Stage::partition});
}

struct Traffic {
  int collectives = 0;
  int64_t bytes = 0;  // bytes of the operands on a rank
};

Traffic traffic_of(const Program& program) {
  Traffic traffic;
  const LocalGraph& local = program.local();
  for (const Node& node : local.graph.nodes) {
    if (!is_collective(node)) continue;
    ++traffic.collectives;
    for (const ValueId input : node.inputs) traffic.bytes += local.graph.type(input).bytes();
  }
  return traffic;
}

/// Returns costs that do not depend on the precision.
const auto kInBytes = [](const Mesh& mesh) { return PlanCosts::bytes(mesh); };

TEST(PlainGraph, SharesAreThoseOfTheTypes) {
  const auto share_of = [](const PrecisionOptions& precision, DType dtype = DType::f32) {
    return share_of_rounded(
        make_training_graph(forward_to_plan(kPlannedGpt, dtype), all_ops(), {.precision = precision}).graph, all_ops());
  };
  EXPECT_EQ(share_of({}), 1);
  EXPECT_EQ(share_of({.precision = MixedPrecision::bf16}, DType::f64), 1) << "values stay f64";
  const double half = share_of({.precision = MixedPrecision::bf16});
  EXPECT_GT(half, 0.5);  // losses and statistics keep their bits
  EXPECT_LT(half, 0.8);
  const double wide = share_of({.precision = MixedPrecision::bf16, .residual = Residual::f32});
  const double one = share_of({.layers = {{"net/h/1", MixedPrecision::bf16}}});
  EXPECT_GT(wide, half);
  EXPECT_GT(one, wide);
  EXPECT_LT(one, 1);
}

/// Returns the smallest of the batches for which a search no longer splits the weights of an MLP on two ranks.
int64_t batch_that_is_cut(MixedPrecision precision, std::optional<DType> reductions = std::nullopt) {
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
  for (int64_t batch = 16; batch <= 16384; batch += batch / 16) {
    const ZooModel model = make_model("mlp:hidden=512,layers=2");
    const Graph forward = build_graph(model.network(model.recipe.training.loss), all_ops(),
                                      {.batch = batch, .columns = model.columns(DType::f32)});
    const Program program =
        compile(forward, all_ops(), device->catalog(),
                {.ranks = 2,
                 .plan = {.parallel = Parallel::automatic, .search = Search::exact},
                 .training = TrainingOptions{.precision = {.precision = precision, .reductions = reductions}},
                 .last = Stage::plan});
    const Plan& plan = program.plan();
    const auto splits = [&](const State& state) {
      const auto at = static_cast<size_t>(&state - program.graph.states.data()) + program.graph.inputs.size();
      const std::vector<Axes>& dims = plan.inputs.at(at);
      return std::ranges::any_of(dims, [](const Axes& axes) { return !axes.empty(); });
    };
    if (std::ranges::none_of(program.graph.states, splits)) return batch;
  }
  return 0;
}

// Activations that move have half the bytes, gradients of weights those of f32: splitting weights pays for longer.
TEST(PlainGraph, SearchesPriceTheBitsThatMove) {
  const int64_t full = batch_that_is_cut(MixedPrecision::f32), half = batch_that_is_cut(MixedPrecision::bf16);
  EXPECT_GT(full, 16);
  EXPECT_GT(half, 1.3 * static_cast<double>(full));
  EXPECT_LT(batch_that_is_cut(MixedPrecision::bf16, DType::bf16), half);
  EXPECT_LT(batch_that_is_cut(MixedPrecision::f32, DType::bf16), full);
}

TEST(PlainGraph, PlansCommunicateNoMoreThanWithoutRoundings) {
  const char* specs[] = {"mlp:hidden=64,layers=2",
                         "lenet",
                         kPlannedGpt,
                         "gpt:layers=2,hidden=64,heads=4",
                         "llama:layers=2,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=8,vocab=24",
                         "moe:layers=2,hidden=16,heads=4,seq=8,vocab=24"};
  for (const char* spec : specs) {
    for (const int64_t ranks : {2, 4, 8}) {
      for (const Search search : {Search::exact, Search::propagation}) {
        const PlanOptions options{.parallel = Parallel::automatic, .search = search, .costs = kInBytes};
        const Traffic full = traffic_of(planned(spec, ranks, options, MixedPrecision::f32));
        const Traffic half = traffic_of(planned(spec, ranks, options, MixedPrecision::bf16));
        const std::string what = fmt::format("{} on {} ranks by {}", spec, ranks, name_of(search));
        EXPECT_LE(half.collectives, full.collectives) << what;
        EXPECT_LE(half.bytes, full.bytes) << what;
      }
    }
  }
}

TEST(PlainGraph, PlansOfBlocksCommunicateNoMoreThanWithoutRoundings) {
  for (const Recompute recompute : {Recompute::none, Recompute::full}) {
    for (const bool sequence : {false, true}) {
      const PlanOptions options{
          .parallel = Parallel::automatic, .blocks = {.tensor = 2, .sequence = sequence}, .costs = kInBytes};
      const Traffic full = traffic_of(planned(kPlannedGpt, 4, options, MixedPrecision::f32, recompute));
      const Traffic half = traffic_of(planned(kPlannedGpt, 4, options, MixedPrecision::bf16, recompute));
      EXPECT_LE(half.collectives, full.collectives) << name_of(recompute) << " " << sequence;
      EXPECT_LE(half.bytes, full.bytes) << name_of(recompute) << " " << sequence;
    }
  }
}

}  // namespace
}  // namespace partita
