#pragma once
// The intermediate representation: single-assignment nodes over typed values, and state that is read at entry and
// written once at exit.

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/attrs.h"
#include "base/names.h"
#include "base/shape.h"
#include "ir/sharding/annotation.h"

namespace partita {

using ValueId = int32_t;
using NodeId = int32_t;

constexpr int64_t kMaxStages = 1024;  // stages of a pipeline

enum class Phase { forward, backward, update };
/// Returns "forward", "backward" or "update".
std::string_view name_of(Phase phase);

/// Source location of the user's call.
struct SourceLocation {
  std::string file;
  int line = 0;
  bool operator==(const SourceLocation&) const = default;
};

/// One use of an op.
struct Node {
  std::string op;
  Attrs attrs;
  std::vector<ValueId> inputs, outputs;
  std::string name;   // unique in the graph: "matmul2"
  std::string scope;  // "net/layer1"
  SourceLocation source;
  Phase phase = Phase::forward;
  std::string origin;  // name of the forward node of a gradient node, or ""
  std::optional<ShardingAnnotation> annotation;
  /// Name of a recomputation group, or "" for none. The backward pass recomputes the results of a group's forward nodes
  /// instead of keeping them. On a backward node it marks such a copy, of the node `origin`.
  std::string recompute;
  int stage = -1;  // pipeline stage that the user chose; -1: that of its neighbours
};

/// A value of the graph: an input, a state at entry or a result of a node.
struct ValueInfo {
  Type type;
  std::string name;      // "matmul2", "layer_norm.1", "image", "conv1.weight"
  NodeId producer = -1;  // -1: an input or a state at entry
  int output = 0;        // index among the producer's outputs
};

/// A value that is given for each step.
struct Input {
  ValueId value = -1;
  int batch_dim = -1;  // the dimension that counts samples, or -1
  /// In the graph of one pipeline stage: the stage that sends the value, or -1 for an input of the whole graph.
  int from_stage = -1;
  bool once = false;     // received before the first micro-batch
  bool verdict = false;  // received with the verdict, which all stages share before they update anything
};

/// Role of a state. parameter: trained. statistic: running values of a norm. optimizer: what an optimizer keeps per
/// parameter. counter: the step. cache: what a generation keeps of earlier tokens.
enum class StateKind { parameter, statistic, optimizer, counter, cache };
/// Returns "parameter", "statistic", "optimizer", "counter" or "cache".
std::string_view name_of(StateKind kind);

/// How a state is filled before the first step: zeros, ones, constant(value), normal(mean, sigma),
/// truncated_normal(mean, sigma) or uniform(low, high). Layers compute the scales of xavier and he initialization.
enum class InitKind { zeros, ones, constant, normal, truncated_normal, uniform };
constexpr auto value_names(InitKind) {
  return names("zeros", "ones", "constant", "normal", "truncated_normal", "uniform");
}

/// A kind of initial values with its arguments.
struct Initializer {
  InitKind kind = InitKind::zeros;
  std::vector<double> args;
  bool operator==(const Initializer&) const = default;
};
/// Checks that the number of arguments fits the kind and that they are finite, with sigma >= 0 and low <= high. Throws
/// InvalidArgument otherwise.
void check_arguments(const Initializer& init);

/// A value that is kept from step to step.
struct State {
  ValueId entry = -1;
  ValueId exit = -1;  // -1: never written
  StateKind kind = StateKind::parameter;
  Initializer init;
  bool requires_grad = true;
  std::string owner;  // optimizer: the parameter it belongs to
  /// Layerwise parallel: the dimension that is split over all ranks, so that its gradient is not reduced; -1: none.
  int layerwise = -1;
};

/// A named result of the graph.
struct Output {
  std::string name;  // "loss", "logits"
  ValueId value = -1;
  std::vector<int> to_stages{};  // in the graph of one pipeline stage: the stages that receive it
  bool once = false;             // sent before the first micro-batch
  bool verdict = false;          // sent with the verdict
};

class Builder;
class Value;

/// Nodes [begin, end) with a custom gradient, used in place of theirs when the graph is differentiated.
struct OwnGradient {
  NodeId begin = 0, end = 0;
  std::vector<ValueId> inputs, outputs;
  /// Appends the gradient nodes. Takes one gradient per output, empty where none arrived, and returns one per input,
  /// empty = none.
  std::function<std::vector<Value>(Builder&, const std::vector<Value>& d_outputs)> gradient;
};

/// A graph. Ids are positions in `nodes` and `values`.
struct Graph {
  std::string name;
  std::vector<Node> nodes;  // in topological order: each value is made before it is used
  std::vector<ValueInfo> values;
  std::vector<Input> inputs;
  std::vector<State> states;
  std::vector<Output> outputs;
  std::vector<OwnGradient> own_gradients{};  // not printed

  const Type& type(ValueId value) const { return values[value].type; }
  std::vector<Type> types(const std::vector<ValueId>& ids) const;
  /// Returns the input or output of this name. Throws InvalidArgument, listing the names, if there is none.
  ValueId input(std::string_view input_name) const;
  ValueId output(std::string_view output_name) const;
  /// Returns the state of this name, or null. Linear in the states; for many look-ups use `states_by_name`.
  const State* find_state(std::string_view state_name) const;
  const std::string& name_of(const State& state) const { return values[static_cast<size_t>(state.entry)].name; }
  /// Returns the index of each state by the name of its value at entry. The keys point into this graph.
  std::unordered_map<std::string_view, size_t> states_by_name() const;
  /// Returns, per value, the nodes that use it, in ascending order and each once.
  std::vector<std::vector<NodeId>> users() const;
};

class OpSet;

/// Whether one of the values has its mark in `marks`, which has one per value of their graph.
inline bool any_marked(const std::vector<ValueId>& values, const std::vector<bool>& marks) {
  return std::ranges::any_of(values, [&](ValueId value) { return marks[value]; });
}

/// Returns the text form, "partita graph 1 ...". `parse_graph` reads it back, without custom gradients.
std::string print(const Graph& graph);
/// Parses and verifies a graph. Throws InvalidArgument, with the line number, for other texts and unknown ops, as
/// `verify` does, and for a graph split over ranks or into sections.
Graph parse_graph(std::string_view text, const OpSet& ops);
/// Checks that the names of values, of nodes and of outputs are each unique, operands are made before use, types are as
/// inferred, only update nodes use values of the update, and states and outputs are made with the right types. Throws
/// InvalidArgument, naming the node or value, otherwise, and for an unknown op.
void verify(const Graph& graph, const OpSet& ops);
/// Returns the graph without nodes that no output or stored state needs. Inputs and states all stay. Ids of nodes and
/// values change. Custom gradients are dropped.
Graph remove_dead_nodes(Graph graph);

}  // namespace partita
