#include "compiler/partition/resharded_graph.h"

#include "ir/sharding/move.h"

namespace partita {
namespace {

std::vector<Type> infer_reshard(const OpCall& call) {
  if (call.inputs.size() == 1) return call.inputs;
  throw InvalidArgument(fmt::format("[reshard] wrong number of operands, got {}, expected 1", call.inputs.size()));
}

OpSet with_reshard(const OpSet& ops) {
  std::vector<OpDef> all = ops.all();
  OpDef& op = all.emplace_back();
  op.name = kReshard;
  op.attrs = Attrs(ReshardAttrs{});
  op.infer = infer_reshard;
  return OpSet(std::move(all));
}

void verify_reshard(const ReshardedGraph& resharded, const Node& node) {
  const Sharding &from = resharded.shardings[node.inputs[0]], &to = resharded.shardings[node.outputs[0]];
  const Type& type = resharded.graph.type(node.inputs[0]);
  PARTITA_CHECK(adds_halos(from, to) || move_between(from, to, resharded.mesh),
                "{}: no single move leads from {} to {}", node.name, print(type, from, resharded.mesh),
                print(type, to, resharded.mesh));
}

}  // namespace

std::string print(const ReshardedGraph& resharded, const OpSet& ops) {
  return print(resharded, Rules(resharded.graph, ops), [](NodeId) { return ""; });
}

ReshardedGraph parse_resharded_graph(std::string_view text, const OpSet& ops) {
  return {parse_sharded_graph(text, ops, with_reshard(ops), "resharded graph",
                              [&](const ShardedGraph& sharded) { verify(ReshardedGraph{sharded}, ops); })};
}

void verify(const ReshardedGraph& resharded, const OpSet& ops) {
  verify_ends(resharded);
  const Rules rules(resharded.graph, ops);
  for (size_t n = 0; n < resharded.graph.nodes.size(); ++n) {
    const Node& node = resharded.graph.nodes[n];
    if (is_reshard(node)) {
      verify_reshard(resharded, node);
    } else {
      verify_cut(resharded, static_cast<NodeId>(n), rules);
    }
  }
}

}  // namespace partita
