#pragma once
// The sharding rules of all nodes of a graph, for the passes that look at them.

#include <memory>
#include <unordered_map>

#include "graph/op_def.h"

namespace partita {

/// Each rule is made once: nodes of one op with equal attributes and types share it. A graph of repeated layers has
/// few. Nodes whose op is not among `ops` have no rule (the collectives of a local graph).
class Rules {
 public:
  /// `ops` outlives this object; the graph need not.
  Rules(const Graph& graph, const OpSet& ops);

  const ShardingRule& operator[](size_t node) const { return entry(node).rule; }
  const OpDef& op(size_t node) const { return *entry(node).op; }
  /// Whether the op has an expansion, so that its `expand` factors may be cut.
  bool expandable(size_t node) const { return entry(node).op->expand != nullptr; }
  /// How many rules were made.
  size_t made() const { return known_.size(); }

 private:
  struct Entry {
    const OpDef* op;
    ShardingRule rule;
  };
  const Entry& entry(size_t node) const {
    PARTITA_CHECK(nodes_.at(node) != nullptr, "node {} has no sharding rule", node);
    return *nodes_[node];
  }

  std::unordered_map<std::string, std::unique_ptr<Entry>> known_;
  std::vector<const Entry*> nodes_;
};

}  // namespace partita
