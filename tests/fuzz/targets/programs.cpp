// Texts of what the stages of the flow make: graphs, plans, programs on shards, schedules, catalogs of kernels.

#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/partition.h"
#include "compiler/plan/cut_micro_batches.h"
#include "compiler/schedule/schedule.h"
#include "compiler/search/make_plan.h"
#include "fuzz/target.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "support/texts/captured_catalog.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

constexpr const char* kForward = R"(partita graph 1
graph small
input %x: f32[12,6] batch=0
input %label: i32[12] batch=0
state %w: f32[8,6] parameter normal(0,0.1) layerwise=0
state %b: f32[8] parameter zeros
%matmul = matmul(%x, %w) {transpose_b=true} : f32[12,8] ; forward scope=net/fc at=zoo/mlp.cpp:12 shard=((2,1),(2,1))
%add = add(%matmul, %b) ; forward scope=net/fc
%relu = relu(%add) ; forward scope=net/relu recompute=full stage=0
%loss = reduce(%relu) {kind=sum, axes=[0,1], scale=0.01} ; forward at="my nets/a b.cpp":7
output loss = %loss
)";

/// A convolution with a window, sums over micro-batches, gathers: what the small graph has not.
constexpr const char* kImages = R"(partita graph 1
graph images
input %x: f32[4,2,8,8] batch=0
state %w: f32[4,2,3,3] parameter normal(0,0.1)
%conv = conv2d(%x, %w) {pads=[1,1,1,1]} ; forward
%pool.y, %pool.at = max_pool(%conv) {kernel=[2,2], stride=[2,2]} ; forward
%loss = reduce(%pool.y) {kind=sum, axes=[0,1,2,3]} ; forward
output loss = %loss
)";

/// Windows over a dimension that is cut.
constexpr const char* kRows = R"(partita plan 1
graph images
search none
mesh rows=2
node conv h={rows}
node pool h={rows}
)";

struct Programs {
  Graph graph;  // graph of a training
  Plan plan, micro_plan;
  ReshardedGraph resharded;
  LocalGraph local, micro_local, images;
  std::unique_ptr<Device> device = make_cpu_device(all_ops(), 1);

  Programs() {
    graph = make_training_graph(parse_graph(kForward, all_ops()), all_ops(), {}).graph;
    const Mesh mesh({{"data", 2}, {"model", 2}});
    plan = make_plan(graph, all_ops(), mesh, {.parallel = Parallel::semi});
    micro_plan = cut_micro_batches(plan, graph, Rules(graph, all_ops()), 2);
    resharded = insert_reshards(graph, all_ops(), plan);
    local = partition(graph, all_ops(), plan);
    micro_local = partition(graph, all_ops(), micro_plan);
    const Graph forward = parse_graph(kImages, all_ops());
    images = partition(forward, all_ops(), parse_plan(kRows, forward, all_ops()));
  }
};

const Programs& programs() {
  static const Programs programs;
  return programs;
}

void read_graph_text(const std::string& input) {
  const auto printed = [](const Graph& graph) { return print(graph); };
  const auto parse = [](const std::string& text) { return parse_graph(text, all_ops()); };
  require_fixed_point(printed, parse, print(parse(input)));
}

/// Reads a graph, makes its training graph and partitions that.
void read_and_train(const std::string& input) {
  const Graph graph = parse_graph(input, all_ops());
  const Graph training = make_training_graph(graph, all_ops(), {}).graph;
  const auto printed = [](const Graph& read) { return print(read); };
  const auto parse = [](const std::string& text) { return parse_graph(text, all_ops()); };
  require_fixed_point(printed, parse, print(training));
  const Plan plan = make_plan(training, all_ops(), Mesh({{"data", 2}}), {.parallel = Parallel::hybrid});
  verify(partition(training, all_ops(), plan), all_ops());
}

void read_plan_text(const std::string& input) {
  const Graph& graph = programs().graph;
  const auto printed = [&](const Plan& plan) { return print(plan, graph, all_ops()); };
  const auto parse = [&](const std::string& text) { return parse_plan(text, graph, all_ops()); };
  const Plan plan = parse(input);
  require_fixed_point(printed, parse, printed(plan));
  if (plan.mesh.ranks() <= 64) verify(partition(graph, all_ops(), plan), all_ops());
}

void read_resharded_text(const std::string& input) {
  const auto printed = [](const ReshardedGraph& resharded) { return print(resharded, all_ops()); };
  const auto parse = [](const std::string& text) { return parse_resharded_graph(text, all_ops()); };
  const ReshardedGraph resharded = parse(input);
  require_fixed_point(printed, parse, print(resharded, all_ops()));
  if (resharded.mesh.ranks() <= 64) verify(partition(resharded), all_ops());
}

void read_local_text(const std::string& input) {
  const auto printed = [](const LocalGraph& local) { return print(local, all_ops()); };
  const auto parse = [](const std::string& text) { return parse_local_graph(text, all_ops()); };
  require_fixed_point(printed, parse, print(parse(input), all_ops()));
}

void read_schedule_of(const LocalGraph& local, const std::string& input) {
  const auto printed = [&](const Schedule& schedule) { return print(schedule, local); };
  const auto parse = [&](const std::string& text) { return parse_schedule(text, local); };
  const Schedule schedule = parse(input);
  require_fixed_point(printed, parse, print(schedule, local));
  verify(schedule, local, programs().device->catalog());
}

std::string schedule_of(const LocalGraph& local) {
  return print(make_schedule(local, all_ops(), programs().device->catalog()), local);
}

std::string some_catalog() {
  const RecordingCatalog recording(programs().device->catalog());
  make_schedule(programs().images, all_ops(), recording);
  make_schedule(programs().local, all_ops(), recording);
  return print(recording);
}

void read_catalog_text(const std::string& input) {
  const std::unique_ptr<KernelCatalog> catalog = parse_catalog(input);
  try {
    make_schedule(programs().images, all_ops(), *catalog);
  } catch (const InvalidArgument&) {  // a kernel that it does not have
  }
}

std::vector<std::string> words_of_graphs() {
  return {"state %w: ", "input %x: ", "output loss = ", "store ",   "f32[",       "i64[2]",
          "bf16[3,4]",  "{axes=[0]}", "; forward",      "; update", "stage=1",    "shard=((",
          "relu(",      "reduce(",    "matmul(",        "reshape(", "transpose(", "concat("};
}

std::vector<std::string> words_of_plans() {
  return {"{data}",      "{model}",        "{data,model}", "mesh data=2 model=2", "undivided",
          "ranks=(1,0)", " | micro=2",     "+sum{data}",   "cut n={data}",        "regather %",
          "input %",     "result %matmul", "node matmul ", "{data|s1d1k3p1n8}"};
}

std::vector<std::string> words_of_schedules() {
  return {"buffer %",
          "@64",
          " view=%",
          "arena ",
          " kept ",
          " scratch ",
          "bucket 0 sum f32 over {data}",
          "update",
          "reduce bucket 0",
          "start bucket 0",
          "wait bucket 0",
          "reorder(",
          "copy("};
}

}  // namespace

std::vector<FuzzTarget> programs_targets() {
  const std::vector<std::string> words = words_of_graphs(), cuts = words_of_plans(), lines = words_of_schedules();
  return {{.name = "graph",
           .seeds =
               [] {
                 return std::vector<std::string>{kForward, kImages, print(programs().graph)};
               },
           .read = read_graph_text,
           .words = words},
          {.name = "training",
           .seeds =
               [] {
                 return std::vector<std::string>{kForward, kImages};
               },
           .read = read_and_train,
           .words = words,
           .max_bytes = 4000},
          {.name = "plan",
           .seeds =
               [] {
                 return std::vector{print(programs().plan, programs().graph, all_ops()),
                                    print(programs().micro_plan, programs().graph, all_ops())};
               },
           .read = read_plan_text,
           .words = cuts},
          {.name = "resharded",
           .seeds = [] { return std::vector{print(programs().resharded, all_ops())}; },
           .read = read_resharded_text,
           .words = cuts},
          {.name = "local",
           .seeds =
               [] {
                 return std::vector{print(programs().local, all_ops()), print(programs().micro_local, all_ops()),
                                    print(programs().images, all_ops())};
               },
           .read = read_local_text,
           .words = cuts},
          {.name = "schedule",
           .seeds = [] { return std::vector{schedule_of(programs().local)}; },
           .read = [](const std::string& input) { read_schedule_of(programs().local, input); },
           .words = lines},
          {.name = "schedule_micro",
           .seeds = [] { return std::vector{schedule_of(programs().micro_local)}; },
           .read = [](const std::string& input) { read_schedule_of(programs().micro_local, input); },
           .words = lines},
          {.name = "catalog",
           .seeds = [] { return std::vector{some_catalog()}; },
           .read = read_catalog_text,
           .words = {"choose ", " => ", " like ", "bytes ", "scratch=", "in_place=0:0", "view",
                     "refused: ", "nchw16c/1024"},
           .max_bytes = 60'000}};
}

}  // namespace partita
