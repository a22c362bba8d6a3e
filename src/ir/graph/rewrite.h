#pragma once
// A graph made again node by node, with other nodes in between.

#include "ir/graph/builder.h"

namespace partita {

class Rewrite {
 public:
  /// Begins with the inputs and states of `from`, under their names and in their order. Names of `from` are kept free.
  /// The arguments outlive the object.
  Rewrite(const Graph& from, const OpSet& ops);

  Builder& builder() { return builder_; }
  /// What stands for a value of `from`.
  Value operator[](ValueId old) const { return made_[old]; }
  std::vector<Value> operator[](const std::vector<ValueId>& old) const;
  /// `results` stand for those of a node of `from`.
  void set(const Node& node, const std::vector<Value>& results);
  /// The graph, with the stores and outputs of `from`.
  Graph finish();

 private:
  const Graph& from_;
  Builder builder_;
  std::vector<Value> made_;
};

}  // namespace partita
