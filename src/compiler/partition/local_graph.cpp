#include "compiler/partition/local_graph.h"

#include <algorithm>
#include <set>

#include "base/listed.h"
#include "compiler/partition/collectives.h"
#include "compiler/partition/node_shardings.h"
#include "compiler/partition/sections.h"
#include "ir/graph/local_node.h"

namespace partita {
namespace {

/// Returns all coordinates of a mesh of up to 64 ranks. Of a larger one, returns those whose sizes differ most: the
/// first, the last, and for each axis the first with the last place on that axis.
std::vector<std::vector<int64_t>> checked_coordinates(const Mesh& mesh) {
  constexpr int64_t kSmall = 64;
  std::vector<std::vector<int64_t>> result;
  if (mesh.ranks() > kSmall) {
    result = {mesh.coordinates_at(0), mesh.coordinates_at(mesh.ranks() - 1)};
    for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
      result.push_back(mesh.coordinates_at(0));
      result.back()[axis] = mesh.axes()[axis].size - 1;
    }
    return result;
  }
  for (int64_t place = 0; place < mesh.ranks(); ++place) result.push_back(mesh.coordinates_at(place));
  return result;
}

/// Text of a collective's note: "over={data.0=2,data.1=2} group=(0,1,2,3) bytes=4096". These are the axes of its groups
/// with their sizes, the group of the first coordinate and the bytes of its operand there. "" for other nodes, and for
/// slices and joins, which send nothing.
std::string print_note(const LocalGraph& local, NodeId id) {
  const Node& node = local.graph.nodes[id];
  if (!is_collective(node) || is_local(*collective_of(node))) return "";
  const Axes axes = axes_of(node, local.mesh);
  const std::vector<int64_t> first = local.mesh.coordinates_at(0);
  const auto axis = [&](int64_t i) {
    const auto& [name, size] = local.mesh.axes()[axes[i]];
    return fmt::format("{}={}", name, size);
  };
  return fmt::format("over={{{}}} group=({}) bytes={}", listed(static_cast<int64_t>(axes.size()), axis, ","),
                     print_group(local.mesh, local.mesh.rank_of(first), axes, ","),
                     local.type(node.inputs[0], first).bytes());
}

void verify_node(const LocalGraph& local, NodeId id, const std::vector<int64_t>& coordinates, const Rules& rules) {
  const Node& node = local.graph.nodes[id];
  std::vector<Type> inputs, outputs;
  for (ValueId input : node.inputs) inputs.push_back(local.type(input, coordinates));
  for (ValueId output : node.outputs) outputs.push_back(local.type(output, coordinates));
  require_local_results(node, rules.op(id), local.attrs(id, coordinates, rules), inputs, outputs,
                        fmt::format("on rank {}", local.mesh.rank_of(coordinates)));
}

/// Text of the attributes and shapes of a node's shards at a coordinate.
std::string print_shards(const LocalGraph& local, NodeId id, const std::vector<int64_t>& coordinates,
                         const Rules& rules) {
  const Node& node = local.graph.nodes[id];
  std::string text = local.attrs(id, coordinates, rules).print();
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (ValueId value : *values) text += fmt::format(" {}", print(local.type(value, coordinates)));
  }
  return text;
}

/// Returns the parts of a factor whose shards differ from the last part's and from one another; none if it is not cut.
std::vector<int64_t> distinct_parts(const LocalGraph& local, NodeId id, int factor, const Rules& rules) {
  const ShardingRule& rule = rules[id];
  const Axes& axes = local.cuts[id][factor];
  const int64_t ways = local.mesh.ways(axes);
  if (axes.empty()) return {};
  if (!has_window(rule, factor))
    return rule.factors[factor].size % ways == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{0};
  std::vector<int64_t> parts;
  std::vector<int64_t> coordinates = local.mesh.coordinates_at(local.mesh.ranks() - 1);
  std::set<std::string> seen{print_shards(local, id, coordinates, rules)};
  for (int64_t part = 0; part < ways; ++part) {
    local.mesh.move_to(coordinates, axes, part);
    if (seen.insert(print_shards(local, id, coordinates, rules)).second) parts.push_back(part);
  }
  return parts;
}

}  // namespace

Type LocalGraph::type(ValueId value, const std::vector<int64_t>& coordinates) const {
  Type local = graph.type(value);
  const Box ranges = local_ranges(local, shardings[value], mesh, coordinates);
  for (size_t d = 0; d < ranges.size(); ++d) local.shape[d] = ranges[d].count();
  return local;
}

Type LocalGraph::largest(ValueId value) const {
  const Sharding& sharding = shardings[value];
  // No chunk is larger than the last one. Of shards with halos, those in the middle have two neighbours.
  Type most = type(value, mesh.coordinates_at(mesh.ranks() - 1));
  for (size_t d = 0; d < sharding.halos.size(); ++d) {
    if (!sharding.halos[d]) continue;
    const auto& [window, factor] = *sharding.halos[d];
    const int64_t ways = mesh.ways(sharding.dims[d]);
    for (int64_t i = 0; i < ways; ++i) {
      most.shape[d] =
          std::max(most.shape[d], required_range(window, chunk(factor, i, ways), graph.type(value).shape[d]).count());
    }
  }
  return most;
}

std::vector<std::vector<int64_t>> LocalGraph::distinct_shards(NodeId id, const Rules& rules) const {
  std::vector<std::vector<int64_t>> found{mesh.coordinates_at(mesh.ranks() - 1)};
  const Cut& cut = cuts[id];
  if (!is_cut(cut)) return found;
  for (size_t f = 0; f < cut.size(); ++f) {
    std::vector<std::vector<int64_t>> more;
    for (const int64_t part : distinct_parts(*this, id, static_cast<int>(f), rules)) {
      for (std::vector<int64_t> coordinates : found) {
        mesh.move_to(coordinates, cut[f], part);
        more.push_back(std::move(coordinates));
      }
    }
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

Attrs LocalGraph::attrs(NodeId node, const std::vector<int64_t>& coordinates, const Rules& rules) const {
  if (!is_cut(cuts[node])) return graph.nodes[node].attrs;
  return local_attrs(graph, node, rules, factor_ranges(rules[node], cuts[node], mesh, coordinates));
}

std::string print(const LocalGraph& local, const OpSet& ops) {
  const Rules rules(local.graph, ops);
  return print(local, rules, [&](NodeId node) { return print_note(local, node); });
}

void verify(const LocalGraph& local, const OpSet& ops) {
  verify_ends(local);
  const Rules rules(local.graph, ops);
  for (size_t n = 0; n < local.graph.nodes.size(); ++n) verify_shardings(local, static_cast<NodeId>(n), rules);
  sections_of(local);
  for (const auto& coordinates : checked_coordinates(local.mesh)) {
    for (size_t n = 0; n < local.graph.nodes.size(); ++n) {
      if (!is_collective(local.graph.nodes[n])) verify_node(local, static_cast<NodeId>(n), coordinates, rules);
    }
  }
}

}  // namespace partita
