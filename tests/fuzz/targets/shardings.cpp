// How things are cut: strategies and layouts, meshes, axes, shardings, plans by names, orders of pipelines.

#include "fuzz/target.h"
#include "ir/orders/text.h"
#include "ir/sharding/annotation.h"
#include "ir/sharding/sharding.h"
#include "ir/sharding/strategy_parts.h"
#include "planner/plan_file/plan_file.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

void read_annotation(const std::string& input) {
  const auto printed = [](const ShardingAnnotation& annotation) { return print(annotation); };
  const ShardingAnnotation annotation = parse_annotation(input);
  require_fixed_point(printed, parse_annotation, print(annotation));
  require(parse_annotation(print(annotation)) == annotation, "an annotation that reads back as another");
  const std::vector<Type> inputs{{DType::f32, {8, 6}}, {DType::f32, {6, 4}}}, outputs{{DType::f32, {8, 4}}};
  const ShardingRule rule = einsum("ik,kj->ij", {{}, inputs, outputs});
  const Mesh mesh = annotation.named() ? Mesh(annotation.axes, annotation.rank_list) : Mesh({{"ranks", 8}});
  const FactorParts parts = read_strategy(annotation, {"node", rule, inputs, outputs}, mesh);
  require(parts.parts.size() == rule.factors.size(), "a part of a factor is missing");
}

void read_strategy_text(const std::string& input) {
  const auto printed = [](const Strategy& strategy) { return print(strategy); };
  require_fixed_point(printed, parse_strategy, print(parse_strategy(input)));
}

void read_mesh_text(const std::string& input) {
  const auto printed = [](const Mesh& mesh) { return print(mesh); };
  const Mesh mesh = parse_mesh(input);
  require_fixed_point(printed, parse_mesh, print(mesh));
  require(parse_mesh(print(mesh)) == mesh, "a mesh that reads back as another");
  for (const int64_t place : {int64_t{0}, mesh.ranks() - 1}) {
    const std::vector<int64_t> at = mesh.coordinates_at(place);
    require(mesh.coordinates(mesh.rank_of(at)) == at, "coordinates of another rank");
  }
}

/// A mesh, a type and its sharding, a line each.
void read_sharding_text(const std::string& input) {
  const size_t first = std::min(input.find('\n'), input.size());
  const Mesh mesh = parse_mesh(input.substr(0, first));
  const std::string text = input.substr(std::min(input.size(), first + 1));
  const size_t last = std::min(text.find('\n'), text.size());
  const Type type = parse_type(text.substr(0, last));
  const auto printed = [&](const Sharding& sharding) { return print(type, sharding, mesh); };
  const auto parse = [&](const std::string& line) { return parse_sharding(line, type, mesh); };
  const Sharding sharding = parse(text.substr(std::min(text.size(), last + 1)));
  require_fixed_point(printed, parse, printed(sharding));
  if (!illegal(type, sharding.dims, mesh).empty() || mesh.ranks() > 4096) return;
  for (int64_t place = 0; place < mesh.ranks(); ++place) {
    const Box ranges = local_ranges(type, sharding, mesh, mesh.coordinates_at(place));
    for (const Range& range : ranges) {
      require(range.begin >= 0 && range.begin <= range.end && range.end <= range.size, "a range outside the tensor");
    }
  }
}

void read_plan_file_text(const std::string& input) {
  const auto printed = [](const PlanFile& plan) { return print(plan); };
  const auto parse = [](const std::string& text) { return parse_plan_file(text, "plan.txt"); };
  const PlanFile plan = parse(input);
  require_fixed_point(printed, parse, print(plan));
  with_plan({}, plan);
}

constexpr const char* kPlanFile =
    "partita training plan 1\n"
    "model mlp:layers=4,hidden=24\n"
    "batch 24\n"
    "dtype f64\n"
    "cluster cpu\n"
    "ranks 8\n"
    "network 00000000000000ff nodes=9 parameters=1234\n"
    "configuration data=2,tensor=2,pipeline=2,micro_batch=3,recompute=full:1\n"
    "parallel auto\n"
    "stage 0 net/fc1 net/relu\n"
    "stage 1 net/fc2..4 loss\n"
    "recompute full net/fc1\n"
    "mesh data=2 tensor=2\n"
    "others exact\n"
    "input %image [24,1,28,28] {data} {} {} {}\n"
    "node net/fc1/matmul A={data} j={tensor}\n"
    "node net/relu\n"
    "predicted step_seconds 0.0125\n"
    "predicted memory_bytes 1000 2000\n"
    "end\n";

/// The first two bytes choose the pipeline.
void read_sequence_text(const std::string& input) {
  if (input.size() < 2) return;
  PipelineShape shape{.micro_batches = 1 + static_cast<uint8_t>(input[0]) % 64};
  const int stages = 1 + static_cast<uint8_t>(input[1]) % 4, groups = 1 + static_cast<uint8_t>(input[1]) / 4 % stages;
  for (int stage = 0; stage < stages; ++stage) shape.groups.push_back(stage % groups);
  const auto printed = [&](const Sequence& sequence) { return print(sequence, shape); };
  const auto parse = [&](const std::string& text) { return parse_sequence(text, shape, chain_of(stages)); };
  const Sequence sequence = parse(input.substr(2));
  require_fixed_point(printed, parse, printed(sequence));
  require(parse(printed(sequence)) == sequence, "an order that reads back as another");
}

std::vector<std::string> some_sequences() {
  std::vector<std::string> inputs;
  for (const Order order : {Order::gpipe, Order::one_forward_one_backward, Order::zero_bubble}) {
    const PipelineShape shape{{0, 1, 2}, 8};
    inputs.push_back("\x07\x0a" + print(make_sequence(order, shape, chain_of(3)), shape));
  }
  const PipelineShape shape{{0, 1, 0, 1}, 4};
  inputs.push_back("\x03\x07" + print(make_sequence(Order::interleaved, shape, chain_of(4)), shape));
  return inputs;
}

}  // namespace

std::vector<FuzzTarget> shardings_targets() {
  return {
      {.name = "annotation",
       .seeds =
           [] {
             return std::vector<std::string>{"((2,4),(4,1))->((2,1))", "[dp=2,mp=4]((dp,mp),(mp,None))->((dp,None))",
                                             "[a=2,b=2,ranks=(0,2,1,3)]((a,b),(b,None))"};
           },
       .read = read_annotation,
       .words = {"None", "ranks=(", "->", "a+b", "1048576", "((", "))", "dp"}},
      {.name = "strategy",
       .seeds =
           [] {
             return std::vector<std::string>{"((2, 4), (4, 1))", "((2,),)", "((), (8))"};
           },
       .read = read_strategy_text},
      {.name = "mesh",
       .seeds =
           [] {
             return std::vector<std::string>{"mesh data=4 model=6", "mesh undivided data=4 | micro=8",
                                             "mesh data=2 model=2 ranks=(0,2,1,3)", "mesh"};
           },
       .read = read_mesh_text,
       .words = {"ranks=(", "undivided ", " | micro=", "1048576", "1048573", "65536"}},
      {.name = "sharding",
       .seeds =
           [] {
             return std::vector<std::string>{"mesh data=4 model=6\nf32[64,128]\nf32[64{data},128{model.0,model.1}]",
                                             "mesh pp=2 dp=2\nf32[2,2,32,32]\nf32[2,2,32{dp|s1d1k3p1n32},32] +sum{pp}"};
           },
       .read = read_sharding_text,
       .words = {"{data}", "|s2d1k3p1n16}", "+max{", "t}", "{data.0,model.1}", "[0]", "576460752303423487"}},
      {.name = "plan_file",
       .seeds = [] { return std::vector<std::string>{kPlanFile}; },
       .read = read_plan_file_text,
       .words = {"stage 2 ", "recompute selective ", "configuration data=", "zero=1", "state %w [4] {}", "gradient ",
                 "uncut", "\nend\n"}},
      {.name = "sequence",
       .seeds = some_sequences,
       .read = read_sequence_text,
       .words = {"group 1:", "F0..F3", "[F1 B0]..[F7 B6]", "W0", ".2", "..", "B7"}}};
}

}  // namespace partita
