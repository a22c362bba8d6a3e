// The time of each stage on a large graph: a chain of residual blocks whose parameters are all trained.
//
//   bench_large_graph [NODES=100000] [RANKS=8] [KERNELS=fast] [BUCKET_KIB=4096]
//
// NODES is the number of nodes of the training graph. Prints seconds per stage, and for each plan mode those of the
// stages after the plan. KERNELS=reference leaves out the queries for primitives of the kernel library. A small
// BUCKET_KIB makes many buckets of gradients.

#include <chrono>
#include <string>

#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/print_rank.h"
#include "compiler/schedule/schedule.h"
#include "compiler/search/make_plan.h"
#include "ir/graph/builder.h"
#include "ir/graph/rules.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "usage.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 64, kWidth = 32;

struct Settings {
  int64_t nodes = 100000, ranks = 8;
  KernelSet kernels = KernelSet::fast;
  int64_t bucket_kib = 4096;
};

class Clock {
 public:
  /// The result of `stage`, whose time is printed.
  template <class Stage>
  auto time(const std::string& name, const Stage& stage) {
    const auto begin = std::chrono::steady_clock::now();
    if constexpr (std::is_void_v<decltype(stage())>) {
      stage();
      print(name, begin);
    } else {
      auto result = stage();
      print(name, begin);
      return result;
    }
  }
  double total() const { return total_; }

 private:
  void print(const std::string& name, std::chrono::steady_clock::time_point begin) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    total_ += seconds;
    fmt::print("  {:<28}{:8.2f} s\n", name, seconds);
    std::fflush(stdout);
  }

  double total_ = 0;
};

/// x + relu(x w + b), over and over, then the sum of all elements.
Graph residual_chain(int64_t blocks) {
  Builder builder(all_ops(), "residual_chain");
  Value x = builder.input("x", {DType::f32, {kBatch, kWidth}}, /*batch_dim=*/0);
  for (int64_t block = 0; block < blocks; ++block) {
    builder.scope = fmt::format("net/block{}", block);
    const auto parameter = [&](const std::string& name, const Shape& shape) {
      return builder.state(fmt::format("block{}.{}", block, name), {DType::f32, shape}, {});
    };
    const Value product = builder.apply("matmul", {x, parameter("weight", {kWidth, kWidth})});
    const Value sum = builder.apply("add", {product, parameter("bias", {kWidth})});
    x = builder.apply("add", {x, builder.apply("relu", {sum})});
  }
  builder.scope = "loss";
  builder.output("loss", builder.apply("reduce", {x}, ReduceAttrs{.axes = {0, 1}}));
  return builder.take();
}

Graph training_of(const Graph& forward) {
  TrainingOptions options;
  options.optimizer.clip_norm = 1;
  return make_training_graph(forward, all_ops(), options).graph;
}

void run_plan(Clock& clock, const Graph& graph, const Settings& settings, Parallel parallel,
              const KernelCatalog& catalog) {
  const OpSet& ops = all_ops();
  fmt::print("plan {}\n", name_of(parallel));
  const PlanOptions options{.parallel = parallel};
  const Mesh mesh = make_mesh(graph, settings.ranks, options);
  const Plan plan = clock.time("plan", [&] { return make_plan(graph, ops, mesh, options); });
  clock.time("verify plan", [&] { verify(plan, graph, ops); });
  clock.time("print plan", [&] { return print(plan, graph, ops); });
  const ReshardedGraph resharded = clock.time("reshard", [&] { return insert_reshards(graph, ops, plan); });
  clock.time("verify resharded graph", [&] { verify(resharded, ops); });
  clock.time("print resharded graph", [&] { return print(resharded, ops); });
  const LocalGraph local = clock.time("partition", [&] { return partition(resharded); });
  clock.time("verify local graph", [&] { verify(local, ops); });
  clock.time("print local graph", [&] { return print(local, ops); });
  clock.time("print rank", [&] { return print_rank(local, ops, settings.ranks - 1); });
  const Schedule schedule = clock.time(
      "schedule", [&] { return make_schedule(local, ops, catalog, {.bucket_bytes = settings.bucket_kib << 10}); });
  clock.time("verify schedule", [&] { verify(schedule, local); });
  clock.time("print schedule", [&] { return print(schedule, local); });
  fmt::print("  {} nodes, {} instructions, {} buckets, arena {} MiB\n", local.graph.nodes.size(),
             schedule.instructions.size(), schedule.buckets.size(), schedule.arena_bytes >> 20);
}

void run(const Settings& settings) {
  const OpSet& ops = all_ops();
  const auto size = [](int64_t blocks) {
    return static_cast<int64_t>(training_of(residual_chain(blocks)).nodes.size());
  };
  const int64_t per_block = (size(20) - size(10)) / 10;
  Clock clock;
  const Graph forward = clock.time("build", [&] { return residual_chain(settings.nodes / per_block); });
  clock.time("verify forward", [&] { verify(forward, ops); });
  const Graph graph = clock.time("autodiff and update", [&] { return training_of(forward); });
  clock.time("verify training", [&] { verify(graph, ops); });
  const std::string text = clock.time("print graph", [&] { return print(graph); });
  clock.time("parse graph", [&] { return parse_graph(text, ops); });
  RuleTable table(ops);
  clock.time("rules", [&] { return Rules(graph, table); });
  fmt::print("  {} nodes, {} states, {} rules\n", graph.nodes.size(), graph.states.size(), table.made());
  const auto device = make_cpu_device(ops, 1, settings.kernels);
  for (const Parallel parallel : {Parallel::none, Parallel::data, Parallel::semi, Parallel::automatic}) {
    run_plan(clock, graph, settings, parallel, device->catalog());
  }
  fmt::print("all {:.2f} s\n", clock.total());
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage = "[NODES] [RANKS] [fast|reference] [BUCKET_KIB]";
  return partita::run_benchmark(argc, argv, kUsage, /*required=*/0, [](const partita::Arguments& given) {
    partita::run({.nodes = given.number<int64_t>(1, 100'000),
                  .ranks = given.number<int64_t>(2, 8),
                  .kernels = partita::parse_name<partita::KernelSet>("KERNELS", given.text(3, "fast")),
                  .bucket_kib = given.number<int64_t>(4, 4096)});
  });
}
