#pragma once
// Builds a graph node by node. Fills in unique names, scopes and source locations.

#include <unordered_map>

#include "ir/graph/name_index.h"
#include "ir/graph/op_def.h"

namespace partita {

/// A symbolic value: a handle into the graph under construction.
class Value {
 public:
  Value() = default;
  Value(Builder* builder, ValueId id) : builder_(builder), id_(id) {}
  /// Whether the handle refers to a value.
  explicit operator bool() const { return builder_ != nullptr; }
  ValueId id() const { return id_; }
  Builder& builder() const { return *builder_; }
  /// Returns the type by value, because the graph's own moves when nodes are added. Throws InternalError for an empty
  /// handle.
  Type type() const;
  Shape shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }

  /// Annotates the node that made this value with how its operands are cut and, if given, how its results are laid out.
  /// Replaces an earlier annotation. The annotation is not checked here, but when a plan is made. Returns this value.
  /// Throws InvalidArgument if no node made the value, and for no layouts of inputs or layouts of different
  /// ShardLayouts. Throws InternalError for an empty handle.
  Value shard(const Strategy& inputs, const Strategy& outputs = {}) const;
  Value shard(const std::vector<TensorLayout>& inputs, const std::vector<TensorLayout>& outputs = {}) const;

 private:
  Builder* builder_ = nullptr;
  ValueId id_ = -1;
};

/// Builds a graph. `ops` must outlive the builder, and the builder must outlive the values it returns.
class Builder {
 public:
  explicit Builder(const OpSet& ops, std::string name = "net") : ops_(ops) { graph_.name = std::move(name); }
  /// Continues an existing graph: nodes are added after its own, and its names stay taken.
  Builder(const OpSet& ops, Graph graph);

  /// Adds an input; `batch_dim` is the dimension that counts samples, or -1. Throws InvalidArgument if the name is
  /// taken or the type has more than kMaxDims dimensions.
  Value input(const std::string& name, const Type& type, int batch_dim = -1);
  /// Adds a state and returns its value at entry. If there is a state of this name, returns that one's, ignoring
  /// `description`. Throws InvalidArgument if that state has another type, and for a new state as `input` does.
  Value state(const std::string& name, const Type& type, State description);
  /// Makes `exit` the value of the state after the step. Throws InvalidArgument if it has another type or the state was
  /// stored before, InternalError if `state` is no value of a state at entry.
  void store(Value state, Value exit);
  /// Returns the state of this name, or null. The pointer is valid until a state is added.
  const State* find_state(const std::string& name) const;
  /// Names `value` as an output of the graph. The name is checked by `verify`.
  void output(const std::string& name, Value value);
  /// Annotates the node that made `value`, replacing an earlier annotation. Throws InvalidArgument if no node made it.
  void annotate(Value value, ShardingAnnotation annotation);
  /// Gives the nodes from `begin` to the last one added so far a custom gradient. `gradient` maps gradients of
  /// `outputs` to those of `inputs` (OwnGradient). Throws InvalidArgument if one of the nodes uses a trained parameter
  /// that is not in `inputs`, which would get no gradient, or if an output is not made by one of the nodes or is given
  /// twice.
  void own_gradient(NodeId begin, const std::vector<Value>& inputs, const std::vector<Value>& outputs,
                    std::function<std::vector<Value>(Builder&, const std::vector<Value>&)> gradient);
  /// Splits `state` over all ranks along `dim` (State::layerwise). Throws InvalidArgument unless `state` is a state
  /// with that dimension.
  void layerwise(Value state, int dim);

  /// Adds a node and returns its first result; without `attrs` the node has the op's default attributes. Throws
  /// InvalidArgument for an unknown op, attributes of another op, and operands that the op's `infer` rejects,
  /// InternalError for operands that are empty or of another graph.
  Value apply(std::string_view op, const std::vector<Value>& inputs, const Attrs& attrs = {});
  /// Adds a node as `apply` does and returns all its results. Throws as `apply` does.
  std::vector<Value> apply_all(std::string_view op, const std::vector<Value>& inputs, const Attrs& attrs = {});

  /// Copies a node of the graph `from` with its properties and under its own name, but with the operands `inputs`, of
  /// this graph, and returns its results. Their names and types are copied, too. Call `reserve_names` first, so that
  /// the names of `from` are not given to other nodes.
  std::vector<Value> copy_node(const Graph& from, const Node& node, const std::vector<Value>& inputs);
  /// Keeps the names of all values and nodes of `from` free for copies.
  void reserve_names(const Graph& from);

  Value value(ValueId id) { return Value(this, id); }
  const Graph& graph() const { return graph_; }
  const OpSet& ops() const { return ops_; }
  /// Moves the graph out of the builder, which must not be used afterwards.
  Graph take() { return std::move(graph_); }

  /// Properties of the nodes added next; see Node.
  std::string scope;
  SourceLocation source;
  Phase phase = Phase::forward;
  std::string origin;
  std::string recompute;
  int stage = -1;

 private:
  std::string unique_name(const std::string& base);
  void index_state(size_t state);
  /// Returns the state whose value at entry is `value`, or null.
  State* find_state(Value value);
  std::vector<Value> append(Node node, std::vector<Type> types, std::vector<std::string> names);

  const OpSet& ops_;
  Graph graph_;
  std::unordered_map<std::string, int> name_counts_;
  NameIndex names_;           // names of all values and nodes
  std::vector<int> states_;   // state index by value at entry, or -1; only as long as needed
  NameIndex states_by_name_;  // in the order of the states
};

}  // namespace partita
