#pragma once
// Builds a graph node by node; names, scopes and source lines are filled in here.

#include <unordered_map>

#include "ir/graph/name_index.h"
#include "ir/graph/op_def.h"

namespace partita {

/// A symbolic value: a handle into the graph under construction.
class Value {
 public:
  Value() = default;
  Value(Builder* builder, ValueId id) : builder_(builder), id_(id) {}
  explicit operator bool() const { return builder_ != nullptr; }
  ValueId id() const { return id_; }
  Builder& builder() const { return *builder_; }
  /// A copy: the graph's own moves when nodes are added.
  Type type() const;
  Shape shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }

  /// Annotations the node that made this value: how its operands are to be cut and, when given, how its results are to
  /// lie. A plan checks the annotation. Throws InvalidArgument for a value that no node made.
  Value shard(const Strategy& inputs, const Strategy& outputs = {}) const;
  Value shard(const std::vector<TensorLayout>& inputs, const std::vector<TensorLayout>& outputs = {}) const;

 private:
  Builder* builder_ = nullptr;
  ValueId id_ = -1;
};

class Builder {
 public:
  explicit Builder(const OpSet& ops, std::string name = "net") : ops_(ops) { graph_.name = std::move(name); }
  /// Continues a graph that is there.
  Builder(const OpSet& ops, Graph graph);

  Value input(const std::string& name, const Type& type, int batch_dim = -1);
  /// The same name again returns the same value; another type for it is an error.
  Value state(const std::string& name, const Type& type, State description);
  void store(Value state, Value exit);
  /// Null when there is none of this name.
  const State* find_state(const std::string& name) const;
  void output(const std::string& name, Value value);
  void annotate(Value value, ShardingAnnotation annotation);
  /// The nodes from `begin` on have a gradient of their own. Throws InvalidArgument when one of them uses a parameter
  /// that is no input: it would have no gradient; or when an output is made by none of them.
  void own_gradient(NodeId begin, const std::vector<Value>& inputs, const std::vector<Value>& outputs,
                    std::function<std::vector<Value>(Builder&, const std::vector<Value>&)> gradient);
  /// Throws InvalidArgument unless `value` is a state with such a dimension.
  void layerwise(Value state, int dim);

  Value apply(std::string_view op, const std::vector<Value>& inputs, const Attrs& attrs = {});
  std::vector<Value> apply_all(std::string_view op, const std::vector<Value>& inputs, const Attrs& attrs = {});

  /// A node of another graph under its own name, on operands of this one. `reserve_names` keeps the
  /// other graph's names free for it.
  std::vector<Value> copy_node(const Graph& from, const Node& node, const std::vector<Value>& inputs);
  void reserve_names(const Graph& from);

  Value value(ValueId id) { return Value(this, id); }
  const Graph& graph() const { return graph_; }
  const OpSet& ops() const { return ops_; }
  Graph take() { return std::move(graph_); }

  /// Where the next nodes stand.
  std::string scope;
  SourceLocation source;
  Phase phase = Phase::forward;
  std::string origin;
  std::string recompute;
  int stage = -1;

 private:
  std::string unique_name(const std::string& base);
  void index_state(size_t state);
  /// Null for a value that is no state.
  State* find_state(Value value);
  std::vector<Value> append(Node node, std::vector<Type> types, std::vector<std::string> names);

  const OpSet& ops_;
  Graph graph_;
  std::unordered_map<std::string, int> name_counts_;
  NameIndex names_;           // of values and nodes
  std::vector<int> states_;   // by the value at entry: the state, or -1; no longer than needed
  NameIndex states_by_name_;  // in their order
};

}  // namespace partita
