#include "compiler/schedule/shard_kernels.h"

#include <algorithm>

namespace partita {

KernelChoice ShardKernels::choose(NodeId id, const std::function<MemoryFormat(ValueId)>& format_of) const {
  const Node& node = local_.graph.nodes[id];
  const std::vector<KernelQuery> shards = queries_of(id, {node.inputs, node.outputs}, format_of);
  for (size_t first = 0; first < shards.size(); ++first) {
    KernelChoice choice = catalog_.choose(shards[first]);
    if (!choice.accepted()) {
      throw InvalidArgument("[schedule] no kernel for {}, got {}({}), expected one that the device has: {}", node.name,
                            node.op, print(shards[first].inputs), choice.reason);
    }
    if (serves_all(choice, shards, first)) return choice;
  }
  throw InvalidArgument(
      "[schedule] no single kernel serves all parts of {}, got {}({}) and {}({}), expected another cut", node.name,
      node.op, print(shards.front().inputs), node.op, print(shards.back().inputs));
}

std::optional<KernelChoice> ShardKernels::find(NodeId id, const NodeValues& values,
                                               const std::function<MemoryFormat(ValueId)>& format_of) const {
  const std::vector<KernelQuery> shards = queries_of(id, values, format_of);
  for (size_t first = 0; first < shards.size(); ++first) {
    KernelChoice choice = catalog_.choose(shards[first]);
    if (!choice.accepted()) return std::nullopt;
    if (serves_all(choice, shards, first)) return choice;
  }
  return std::nullopt;
}

/// Returns the queries for the shards of node `id` that differ between ranks, with the types of `values`, that of the
/// largest shard first.
std::vector<KernelQuery> ShardKernels::queries_of(NodeId id, const NodeValues& values,
                                                  const std::function<MemoryFormat(ValueId)>& format_of) const {
  const Node& node = local_.graph.nodes[id];
  std::vector<KernelQuery> queries;
  for (const std::vector<int64_t>& coordinates : local_.distinct_shards(id, rules_)) {
    KernelQuery& query = queries.emplace_back(KernelQuery{.op = node.op});
    query.attrs = local_.attrs(id, coordinates, rules_);
    for (ValueId input : values.inputs) {
      query.inputs.push_back(local_.type(input, coordinates));
      query.input_formats.push_back(format_of(input));
    }
    for (ValueId output : values.outputs) query.outputs.push_back(local_.type(output, coordinates));
  }
  return queries;
}

/// Whether the choice for shard `own` serves the others too. If so, sets its scratch to the maximum of all, and keeps
/// only in-place pairs that all allow; else leaves it as it is.
bool ShardKernels::serves_all(KernelChoice& choice, const std::vector<KernelQuery>& shards, size_t own) const {
  KernelChoice common = choice;
  for (size_t s = 0; s < shards.size(); ++s) {
    if (s == own) continue;
    KernelQuery query = shards[s];
    query.input_formats = choice.inputs;
    query.like = choice;
    const KernelChoice other = catalog_.choose(query);
    if (!other.accepted() || other.view != choice.view) return false;
    common.scratch_bytes = std::max(common.scratch_bytes, other.scratch_bytes);
    std::erase_if(common.in_place,
                  [&](const auto& pair) { return std::ranges::find(other.in_place, pair) == other.in_place.end(); });
  }
  choice = std::move(common);
  return true;
}

}  // namespace partita
