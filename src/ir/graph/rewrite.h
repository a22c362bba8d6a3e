#pragma once
// Rebuilds a graph node by node, with changes.

#include "ir/graph/builder.h"

namespace partita {

/// A new graph under construction, and the map from old values to new ones.
class Rewrite {
 public:
  /// Begins with the inputs and states of `from`, in their order and under their names. Keeps all names of `from` free.
  /// The arguments must outlive the object.
  Rewrite(const Graph& from, const OpSet& ops);

  Builder& builder() { return builder_; }
  /// Returns the new value that replaces a value of `from`; empty if it has none yet.
  Value operator[](ValueId old) const { return made_[old]; }
  std::vector<Value> operator[](const std::vector<ValueId>& old) const;
  /// Makes `results` the replacements of the results of `node`, a node of `from`.
  void set(const Node& node, const std::vector<Value>& results);
  /// Makes `made` the replacement of `old`, a value of `from`, in place of an earlier one.
  void set(ValueId old, Value made) { made_[old] = made; }
  /// Returns the new graph, with the stores and outputs of `from`, whose values must all have been replaced. Custom
  /// gradients are not copied. Called once.
  Graph finish();

 private:
  const Graph& from_;
  Builder builder_;
  std::vector<Value> made_;
};

}  // namespace partita
