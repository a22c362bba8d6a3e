#include "partition/local_graph.h"

#include <algorithm>

#include "graph/print.h"
#include "partition/collectives.h"

namespace partita {
namespace {

Shard shard_of(const LocalGraph& local, NodeId id, const std::vector<int64_t>& coordinates, const OpSet& ops) {
  const Node& node = local.graph.nodes[id];
  const std::vector<Type> inputs = local.graph.types(node.inputs), outputs = local.graph.types(node.outputs);
  const OpCall call{node.attrs, inputs, outputs};
  return shard(ops.at(node.op).rule(call), local.cuts[id], local.mesh, coordinates, call);
}

bool is_cut(const Cut& cut) {
  return std::any_of(cut.begin(), cut.end(), [](const Axes& axes) { return !axes.empty(); });
}

std::vector<std::vector<int64_t>> all_coordinates(const Mesh& mesh) {
  std::vector<std::vector<int64_t>> result;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) result.push_back(mesh.coordinates(rank));
  return result;
}

/// "begin=by(x,y)[0 2 5 7]": one value per combination of the axes that it depends on.
std::string table(const LocalGraph& local, const std::string& name, const std::vector<std::string>& by_rank) {
  const Mesh& mesh = local.mesh;
  Axes axes;
  for (size_t a = 0; a < mesh.axes().size(); ++a) {
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      std::vector<int64_t> base = mesh.coordinates(rank);
      base[a] = 0;
      if (by_rank[rank] == by_rank[mesh.rank_of(base)]) continue;
      axes.push_back(static_cast<int>(a));
      break;
    }
  }
  if (axes.empty()) return fmt::format("{}={}", name, by_rank[0]);
  std::vector<std::string> values(mesh.ways(axes));
  for (int64_t rank = mesh.ranks(); rank-- > 0;) values[mesh.index_on(mesh.coordinates(rank), axes)] = by_rank[rank];
  return fmt::format("{}=by({})[{}]", name, mesh.print(axes), fmt::join(values, " "));
}

std::string print_attrs(const LocalGraph& local, NodeId id, const OpSet& ops) {
  const Node& node = local.graph.nodes[id];
  if (is_collective(node) || !is_cut(local.cuts[id]) || !ops.at(node.op).localize) return node.attrs.print();
  std::vector<FieldTexts> by_rank;
  for (const auto& coordinates : all_coordinates(local.mesh))
    by_rank.push_back(local.attrs(id, coordinates, ops).texts());
  std::string text;
  for (size_t f = 0; f < by_rank[0].size(); ++f) {
    std::vector<std::string> values;
    for (const FieldTexts& texts : by_rank) values.push_back(texts[f].second);
    text += (text.empty() ? "" : ", ") + table(local, by_rank[0][f].first, values);
  }
  return "{" + text + "}";
}

/// "group=(0,1)(2,3) bytes=4096" of a collective.
std::string print_note(const LocalGraph& local, NodeId id) {
  const Node& node = local.graph.nodes[id];
  if (!is_collective(node) || node.op == "slice_shard") return "";
  const Axes axes = axes_of(node, local.mesh);
  std::string groups;
  for (int64_t rank = 0; rank < local.mesh.ranks(); ++rank) {
    const std::vector<int> group = local.mesh.group(rank, axes);
    if (group.front() == rank) groups += fmt::format("({})", fmt::join(group, ","));
  }
  return fmt::format("group={} bytes={}", groups, local.type(node.inputs[0], local.mesh.coordinates(0)).bytes());
}

void verify_node(const LocalGraph& local, NodeId id, const std::vector<int64_t>& coordinates, const OpSet& ops) {
  const Node& node = local.graph.nodes[id];
  std::vector<Type> inputs;
  for (ValueId input : node.inputs) inputs.push_back(local.type(input, coordinates));
  const std::vector<Type> none;
  const std::vector<Type> inferred = ops.at(node.op).infer({local.attrs(id, coordinates, ops), inputs, none});
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const Type held = local.type(node.outputs[k], coordinates);
    PARTITA_CHECK(inferred[k] == held, "{}: result {} is {} on rank {}, its sharding says {}", node.name, k,
                  print(inferred[k]), local.mesh.rank_of(coordinates), print(held));
  }
}

}  // namespace

Type LocalGraph::type(ValueId value, const std::vector<int64_t>& coordinates) const {
  Type local = graph.type(value);
  const std::vector<Range> ranges = held(local, shardings[value], mesh, coordinates);
  for (size_t d = 0; d < ranges.size(); ++d) local.shape[d] = ranges[d].count();
  return local;
}

Attrs LocalGraph::attrs(NodeId node, const std::vector<int64_t>& coordinates, const OpSet& ops) const {
  const Node& global = graph.nodes[node];
  if (is_collective(global) || !is_cut(cuts[node])) return global.attrs;
  const OpDef& op = ops.at(global.op);
  return op.localize ? op.localize(global.attrs, shard_of(*this, node, coordinates, ops)) : global.attrs;
}

std::string print(const LocalGraph& local, const OpSet& ops) {
  return print(
      local.graph,
      {.type = [&](ValueId value) { return print(local.graph.type(value), local.shardings[value], local.mesh); },
       .attrs = [&](NodeId node) { return print_attrs(local, node, ops); },
       .note = [&](NodeId node) { return print_note(local, node); }});
}

void verify(const LocalGraph& local, const OpSet& ops) {
  PARTITA_CHECK(local.shardings.size() == local.graph.values.size() && local.cuts.size() == local.graph.nodes.size(),
                "a local graph without shardings");
  for (const auto& coordinates : all_coordinates(local.mesh)) {
    for (size_t n = 0; n < local.graph.nodes.size(); ++n) {
      if (!is_collective(local.graph.nodes[n])) verify_node(local, static_cast<NodeId>(n), coordinates, ops);
    }
  }
  for (const State& state : local.graph.states) {
    if (state.exit < 0) continue;
    PARTITA_CHECK(local.shardings[state.exit] == local.shardings[state.entry], "state {} changes its sharding",
                  local.graph.values[state.entry].name);
  }
  for (const Output& output : local.graph.outputs) {
    PARTITA_CHECK(local.shardings[output.value].partial.empty(), "output {} is partial", output.name);
  }
}

}  // namespace partita
