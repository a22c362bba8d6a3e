// Every op with the attributes and types of a text: what its inference accepts its rule, its cuts and its kernel take.

#include "compiler/partition/partition.h"
#include "compiler/plan/plan.h"
#include "fuzz/target.h"
#include "ir/graph/rules.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

constexpr int64_t kMaxPoints = 100'000;         // iteration space of a kernel that is run
constexpr int64_t kMaxKernelElements = 20'000;  // all operands and results together

/// A graph of one node.
std::string graph_of(const OpDef& op, const Sample& sample) {
  std::string text = fmt::format("partita graph 1\ngraph {}\n", op.name), operands, results, outputs;
  std::vector<Type> types;
  for (const SampleInput& input : sample.inputs) {
    text += fmt::format("input %x{}: {}\n", types.size(), print(input.type));
    operands += fmt::format("{}%x{}", operands.empty() ? "" : ", ", types.size());
    types.push_back(input.type);
  }
  const Attrs attrs = sample.attrs.empty() ? op.attrs : sample.attrs;
  const size_t count = op.infer({attrs, types, {}}).size();
  for (size_t i = 0; i < count; ++i) {
    results += fmt::format("{}%y.{}", i == 0 ? "" : ", ", i);
    outputs += fmt::format("output y{0} = %y.{0}\n", i);
  }
  return text + fmt::format("{} = {}({}) {}\n{}", results, op.name, operands, attrs.print(), outputs);
}

std::vector<std::string> a_graph_of_each_sample() {
  std::vector<std::string> texts;
  for (const OpDef& op : all_ops().all()) {
    for (const Sample& sample : op.samples) texts.push_back(graph_of(op, sample));
  }
  return texts;
}

void run_kernel(const OpDef& op, const ShardingRule& rule, const Graph& graph, const Node& node) {
  int64_t points = 1, size = 0;
  for (const Factor& factor : rule.factors)
    points *= std::min(factor.size, kMaxPoints / std::max<int64_t>(1, points) + 1);
  const std::vector<Type> inputs = graph.types(node.inputs), outputs = graph.types(node.outputs);
  for (const auto& types : {inputs, outputs}) {
    for (const Type& type : types) size += std::min(type.elements(), kMaxKernelElements + 1);
  }
  if (op.kernel == nullptr || points > kMaxPoints || size > kMaxKernelElements) return;
  std::vector<Array> arrays;
  for (const Type& type : inputs) arrays.emplace_back(type);
  for (const Type& type : outputs) arrays.emplace_back(type);
  std::vector<ConstTensor> in;
  std::vector<Tensor> out;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (i < inputs.size()) {
      in.push_back(std::as_const(arrays[i]).tensor());
    } else {
      out.push_back(arrays[i].tensor());
    }
  }
  op.kernel(node.attrs, in, out);
}

/// On two and three ranks, each factor by itself.
void cut_each_factor(const Graph& graph, const Rules& rules, size_t node) {
  const ShardingRule& rule = rules[node];
  for (const int64_t ranks : {2, 3}) {
    const Mesh mesh({{"a", ranks}});
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      Cut cut(rule.factors.size());
      cut[f] = {0};
      if (!illegal(rule, cut, mesh).empty() || (needs_expansion(rule, cut) && !rules.expandable(node))) continue;
      Plan plan{.graph = graph.name, .mesh = mesh};
      for (const Input& input : graph.inputs) plan.inputs.emplace_back(graph.type(input.value).shape.size());
      for (const State& state : graph.states) plan.inputs.emplace_back(graph.type(state.entry).shape.size());
      for (size_t n = 0; n < graph.nodes.size(); ++n) plan.cuts.emplace_back(rules[n].factors.size());
      plan.cuts[node] = cut;
      verify(plan, graph, all_ops());
      verify(partition(graph, all_ops(), plan), all_ops());
    }
  }
}

void read_ops(const std::string& input) {
  const auto printed = [](const Graph& graph) { return print(graph); };
  const auto parse = [](const std::string& text) { return parse_graph(text, all_ops()); };
  const Graph graph = parse(input);
  require_fixed_point(printed, parse, print(graph));
  const Rules rules(graph, all_ops());
  for (size_t n = 0; n < std::min<size_t>(graph.nodes.size(), 4); ++n) {
    const Node& node = graph.nodes[n];
    const std::vector<Type> inputs = graph.types(node.inputs), outputs = graph.types(node.outputs);
    const std::string wrong = verify(rules[n], {node.attrs, inputs, outputs}, rules.expandable(n));
    require(wrong.empty(), fmt::format("the rule of {} is wrong: {}", node.op, wrong));
    run_kernel(rules.op(n), rules[n], graph, node);
    cut_each_factor(graph, rules, n);
  }
}

}  // namespace

std::vector<FuzzTarget> ops_targets() {
  return {{.name = "ops",
           .seeds = a_graph_of_each_sample,
           .read = read_ops,
           .words = {"f32[", "bf16[", "i32[", "u8[", "bool[", "[1,1]", "[0,0,0,0]", ",3", "axis=", "dtype=f16", "true"},
           .max_bytes = 2000}};
}

}  // namespace partita
