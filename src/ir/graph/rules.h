#pragma once
// The sharding rules of all nodes of a graph.

#include <deque>
#include <memory>
#include <unordered_map>

#include "ir/graph/op_def.h"

namespace partita {

/// Cache of rules. Nodes of one op with equal attributes and types share a rule, across graphs.
class RuleTable {
 public:
  struct Entry {
    const OpDef* op;
    ShardingRule rule;
  };

  /// `ops` must outlive this object.
  explicit RuleTable(const OpSet& ops) : ops_(ops) {}

  const OpSet& ops() const { return ops_; }
  /// Returns the rule of a node, which it makes and keeps if there is none for such a node, or null if its op is not in
  /// `ops` (the collectives of a local graph). The pointer is valid for the lifetime of the table.
  const Entry* find(const Graph& graph, const Node& node);
  /// Returns the number of rules made so far.
  size_t made() const { return entries_.size(); }

 private:
  struct Seen {
    Attrs attrs;  // kept, so that no other attributes get this address
    const Entry* entry;
  };
  const Entry* make(const Graph& graph, const Node& node);

  const OpSet& ops_;
  std::deque<Entry> entries_;
  std::unordered_map<std::string, const Entry*> entries_by_text_;  // by the text of the attributes and types
  std::unordered_map<std::string, Seen> seen_;  // by the address of the attributes, which copied nodes share
  std::string key_;                             // key of the current look-up; reused
};

/// The rules of one graph's nodes, by node. A graph of repeated layers has few distinct rules.
class Rules {
 public:
  /// Makes the rules. Nodes of ops that `ops` lacks get none. `ops` must outlive this object; the graph need not.
  Rules(const Graph& graph, const OpSet& ops);
  /// Takes the rules from `table`, adding missing ones. Nodes of ops that `table` lacks get none. `table` must outlive
  /// this object.
  Rules(const Graph& graph, RuleTable& table);

  /// Returns the sharding rule of a node. Throws InternalError if the node has none.
  const ShardingRule& operator[](size_t node) const { return entry(node).rule; }
  const OpDef& op(size_t node) const { return *entry(node).op; }
  /// Whether the op has an expansion, so its `expand` factors may be cut. Throws InternalError if the node has no
  /// rule.
  bool expandable(size_t node) const { return entry(node).op->expand != nullptr; }

 private:
  const RuleTable::Entry& entry(size_t node) const {
    PARTITA_CHECK(nodes_.at(node) != nullptr, "node {} has no sharding rule", node);
    return *nodes_[node];
  }

  std::unique_ptr<RuleTable> own_;  // null if the rules belong to another table
  std::vector<const RuleTable::Entry*> nodes_;
};

}  // namespace partita
