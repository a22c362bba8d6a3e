#pragma once
// The sharding rules of all nodes of a graph, for the passes that look at them.

#include <deque>
#include <memory>
#include <unordered_map>

#include "ir/graph/op_def.h"

namespace partita {

/// Each rule is made once: nodes of one op with equal attributes and types share it, in whichever graphs they are.
class RuleTable {
 public:
  struct Entry {
    const OpDef* op;
    ShardingRule rule;
  };

  /// `ops` outlives this object.
  explicit RuleTable(const OpSet& ops) : ops_(ops) {}

  const OpSet& ops() const { return ops_; }
  /// None for a node whose op is not among the ops (the collectives of a local graph). Stays where it is.
  const Entry* find(const Graph& graph, const Node& node);
  /// How many rules were made.
  size_t made() const { return entries_.size(); }

 private:
  struct Seen {
    Attrs attrs;  // kept, so that no others come where they are
    const Entry* entry;
  };
  const Entry* make(const Graph& graph, const Node& node);

  const OpSet& ops_;
  std::deque<Entry> entries_;
  std::unordered_map<std::string, const Entry*> known_;  // by the text of the attributes
  std::unordered_map<std::string, Seen> seen_;           // by their identity: nodes that were copied share it
  std::string key_;                                      // of the node in turn
};

/// A graph of repeated layers has few rules.
class Rules {
 public:
  /// The ops outlive this object; the graph need not.
  Rules(const Graph& graph, const OpSet& ops);
  /// Rules that the table knows, or learns. It outlives this object.
  Rules(const Graph& graph, RuleTable& table);

  const ShardingRule& operator[](size_t node) const { return entry(node).rule; }
  const OpDef& op(size_t node) const { return *entry(node).op; }
  /// Whether the op has an expansion, so that its `expand` factors may be cut.
  bool expandable(size_t node) const { return entry(node).op->expand != nullptr; }

 private:
  const RuleTable::Entry& entry(size_t node) const {
    PARTITA_CHECK(nodes_.at(node) != nullptr, "node {} has no sharding rule", node);
    return *nodes_[node];
  }

  std::unique_ptr<RuleTable> own_;  // unless they are those of another table
  std::vector<const RuleTable::Entry*> nodes_;
};

}  // namespace partita
