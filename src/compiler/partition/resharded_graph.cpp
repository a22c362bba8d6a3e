#include "compiler/partition/resharded_graph.h"

#include "ir/sharding/move.h"

namespace partita {
namespace {

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
