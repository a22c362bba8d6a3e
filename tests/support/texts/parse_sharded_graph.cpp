#include "base/scanner.h"
#include "compiler/partition/collectives.h"
#include "ir/graph/print.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

std::vector<Type> infer_identity(const OpCall& call) {
  if (call.inputs.size() == 1) return call.inputs;
  throw InvalidArgument(fmt::format("[collective] wrong number of operands, got {}, expected 1", call.inputs.size()));
}

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

/// Reads the text that `print` writes. A node whose op is in `all` but not in `ops` moves a value. `check` throws if
/// parts of the graph do not fit together. Throws InvalidArgument for other texts and for a graph that `check` refuses;
/// messages that concern no single line begin with `kind`.
ShardedGraph parse_sharded_graph(std::string_view text, const OpSet& ops, const OpSet& all, std::string_view kind,
                                 const std::function<void(const ShardedGraph&)>& check) {
  AnnotatedGraph annotated = parse_annotated(text, all);
  ShardedGraph sharded{.graph = std::move(annotated.graph)};
  if (!annotated.mesh.empty()) {
    sharded.mesh = with_line("graph", annotated.mesh_line, [&] { return parse_mesh(annotated.mesh); });
  }
  if (!annotated.sections.empty()) {
    sharded.sections = with_line("graph", annotated.sections_line,
                                 [&] { return parse_name<MicroSections>("sections", annotated.sections); });
  }
  for (size_t v = 0; v < annotated.types.size(); ++v) {
    const Type& type = sharded.graph.values[v].type;
    sharded.shardings.push_back(with_line("graph", annotated.value_lines[v],
                                          [&] { return parse_sharding(annotated.types[v], type, sharded.mesh); }));
  }
  const Rules rules(sharded.graph, ops);
  for (size_t n = 0; n < annotated.cuts.size(); ++n) {
    const Node& node = sharded.graph.nodes[n];
    if (ops.find(node.op) == nullptr) {
      sharded.cuts.emplace_back();
      continue;
    }
    const ShardingRule& rule = rules[n];
    sharded.cuts.push_back(with_line("graph", annotated.node_lines[n], [&] {
      Cut cut = parse_cut(annotated.cuts[n], rule, sharded.mesh);
      require_legal(kind, node.name, rule, cut, sharded.mesh);
      return cut;
    }));
  }
  require_consistent(kind, [&] { check(sharded); });
  return sharded;
}

}  // namespace

OpSet with_collectives(const OpSet& ops) {
  std::vector<OpDef> all = ops.all();
  for (size_t i = 0; i < kNodeCollectives; ++i) {
    OpDef& op = all.emplace_back();
    op.name = name_of(static_cast<Collective>(i));
    op.attrs = Attrs(CollectiveAttrs{});
    op.infer = infer_identity;
  }
  return OpSet(std::move(all));
}

ReshardedGraph parse_resharded_graph(std::string_view text, const OpSet& ops) {
  return {parse_sharded_graph(text, ops, with_reshard(ops), "resharded graph",
                              [&](const ShardedGraph& sharded) { verify(ReshardedGraph{sharded}, ops); })};
}

LocalGraph parse_local_graph(std::string_view text, const OpSet& ops) {
  return {parse_sharded_graph(text, ops, with_collectives(ops), "local graph",
                              [&](const ShardedGraph& sharded) { verify(LocalGraph{sharded}, ops); })};
}

}  // namespace partita
