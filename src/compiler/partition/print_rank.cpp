#include "compiler/partition/print_rank.h"

#include "compiler/partition/collectives.h"
#include "ir/sharding/strategy.h"

namespace partita {
namespace {

class Printer {
 public:
  Printer(const LocalGraph& local, const OpSet& ops, int64_t rank)
      : local_(local), rules_(local.graph, ops), coordinates_(local.mesh.coordinates(rank)), rank_(rank) {}

  std::string print_all() const {
    const Graph& graph = local_.graph;
    std::string text = fmt::format("rank {} of {} ({})\n", rank_, local_.mesh.ranks(), print(local_.mesh));
    for (const Input& input : graph.inputs) text += fmt::format("input {}\n", value(input.value));
    for (const State& state : graph.states) text += fmt::format("{} {}\n", name_of(state.kind), value(state.entry));
    for (size_t n = 0; n < graph.nodes.size(); ++n) text += line(static_cast<NodeId>(n)) + "\n";
    for (const Output& output : graph.outputs) text += fmt::format("output {} {}\n", output.name, value(output.value));
    return text;
  }

 private:
  /// Text of a value: "%x: f32[16{ranks.0},4] here f32[8,4]", without "here" if the rank holds all of it.
  std::string value(ValueId id) const {
    const Type whole = local_.graph.type(id), here = local_.type(id, coordinates_);
    return fmt::format("%{}: {}{}", local_.graph.values[id].name, print(whole, local_.shardings[id], local_.mesh),
                       here == whole ? "" : " here " + print(here));
  }

  std::string line(NodeId id) const {
    const Node& node = local_.graph.nodes[id];
    std::string text;
    for (ValueId output : node.outputs) text += (text.empty() ? "" : ", ") + value(output);
    text += fmt::format(" = {}(", node.op);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      text += fmt::format("{}%{}", i == 0 ? "" : ", ", local_.graph.values[node.inputs[i]].name);
    }
    text += ")";
    text += is_collective(node) ? collective_note(node) : strategy_note(id);
    text += fmt::format(" ; {}", name_of(node.phase));
    if (!node.scope.empty()) text += " scope " + node.scope;
    if (!node.source.file.empty()) text += fmt::format(" at {}:{}", node.source.file, node.source.line);
    return text;
  }

  std::string strategy_note(NodeId id) const {
    const Cut& cut = local_.cuts[id];
    if (!is_cut(cut)) return "";
    const ShardingRule& rule = rules_[id];
    return fmt::format(" in_strategy: {} cut {}", print(strategy_of(rule, cut, local_.mesh)),
                       print(cut, rule, local_.mesh));
  }

  std::string collective_note(const Node& node) const {
    const auto& attrs = node.attrs.as<CollectiveAttrs>();
    std::string text;
    if (attrs.reduce != Reduce::none) text += fmt::format(" {}", name_of(attrs.reduce));
    if (attrs.dim >= 0) text += fmt::format(" dim {}", attrs.dim);
    if (attrs.to_dim >= 0) text += fmt::format(" to dim {}", attrs.to_dim);
    if (!is_local(*collective_of(node))) {
      const Type here = local_.type(node.inputs[0], coordinates_);
      text += fmt::format(" ranks ({}) bytes {}", print_group(local_.mesh, rank_, axes_of(node, local_.mesh), ", "),
                          wire_bytes(here.bytes(), here.dtype, attrs.wire));
      if (attrs.wire) text += fmt::format(" of {}", name_of(*attrs.wire));
    }
    return text + " reason " + attrs.reason;
  }

  const LocalGraph& local_;
  const Rules rules_;
  const std::vector<int64_t> coordinates_;
  const int64_t rank_;
};

}  // namespace

std::string print_rank(const LocalGraph& local, const OpSet& ops, int64_t rank) {
  return Printer(local, ops, rank).print_all();
}

}  // namespace partita
