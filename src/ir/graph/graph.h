#pragma once
// The intermediate representation: single-assignment nodes over typed values, and state that is read
// at entry and written once at exit.

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

constexpr int64_t kMaxStages = 1024;  // of a pipeline

enum class Phase { forward, backward, update };
std::string_view name_of(Phase phase);

/// Where in the source the user calls.
struct SourceLocation {
  std::string file;
  int line = 0;
  bool operator==(const SourceLocation&) const = default;
};

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
  /// Nodes of one name are recomputed together: the backward makes their results again instead of keeping them. Of a
  /// node of the backward: it is such a copy, of `origin`. "": neither.
  std::string recompute;
  int stage = -1;  // of a pipeline, as the user chose; -1: as its neighbours
};

struct ValueInfo {
  Type type;
  std::string name;      // "matmul2", "layer_norm.1", "image", "conv1.weight"
  NodeId producer = -1;  // -1: an input or a state at entry
  int output = 0;        // which output of the producer
};

struct Input {
  ValueId value = -1;
  int batch_dim = -1;  // the dimension that counts samples, or -1
  /// Of a graph that is one stage of a pipeline: the stage that makes the value, or -1 for an input of the whole.
  int from_stage = -1;
  bool once = false;     // it comes before the first micro-batch
  bool verdict = false;  // it comes with the verdict, which all stages share before they update anything
};

/// parameter: trained; statistic: running values of a norm; optimizer: what an optimizer keeps for a parameter;
/// counter: the step.
enum class StateKind { parameter, statistic, optimizer, counter };
std::string_view name_of(StateKind kind);

/// How a state is filled before the first step: zeros, ones, constant(value), normal(mean, sigma),
/// truncated_normal(mean, sigma), uniform(low, high). Scales of xavier and he are computed by the layer.
enum class InitKind { zeros, ones, constant, normal, truncated_normal, uniform };
template <>
inline constexpr auto kNames<InitKind> = names("zeros", "ones", "constant", "normal", "truncated_normal", "uniform");

struct Initializer {
  InitKind kind = InitKind::zeros;
  std::vector<double> args;
  bool operator==(const Initializer&) const = default;
};
/// Throws InvalidArgument unless there are as many arguments as the kind takes, finite and in order.
void check_arguments(const Initializer& init);

struct State {
  ValueId entry = -1;
  ValueId exit = -1;  // -1: never written
  StateKind kind = StateKind::parameter;
  Initializer init;
  bool requires_grad = true;
  std::string owner;  // optimizer: the parameter it belongs to
  /// Layerwise parallel: the dimension that is split over all ranks, and whose gradient is therefore not reduced; -1:
  /// none.
  int layerwise = -1;
};

struct Output {
  std::string name;  // "loss", "logits"
  ValueId value = -1;
  std::vector<int> to_stages{};  // of a graph that is one stage of a pipeline: those that it is sent to
  bool once = false;             // it is sent before the first micro-batch
  bool verdict = false;          // it is sent with the verdict
};

class Builder;
class Value;

/// Nodes whose gradient is not made of theirs, until the graph is differentiated.
struct OwnGradient {
  NodeId begin = 0, end = 0;
  std::vector<ValueId> inputs, outputs;
  /// Appends nodes; one gradient per input, empty = none, from those of the outputs, empty where none arrived.
  std::function<std::vector<Value>(Builder&, const std::vector<Value>& d_outputs)> gradient;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;  // in an order in which every value is made before it is used
  std::vector<ValueInfo> values;
  std::vector<Input> inputs;
  std::vector<State> states;
  std::vector<Output> outputs;
  std::vector<OwnGradient> own_gradients{};  // not printed

  const Type& type(ValueId value) const { return values[value].type; }
  std::vector<Type> types(const std::vector<ValueId>& ids) const;
  /// Throws InvalidArgument when there is none.
  ValueId input(std::string_view input_name) const;
  ValueId output(std::string_view output_name) const;
  /// Looks through all of them: for one look-up.
  const State* find_state(std::string_view state_name) const;
  /// The place of each state by the name of its value at entry; names are those of the graph.
  std::unordered_map<std::string_view, size_t> states_by_name() const;
  /// Nodes that use each value.
  std::vector<std::vector<NodeId>> users() const;
};

class OpSet;

/// "partita graph 1 ..."; `parse_graph(print(graph))` is the same graph.
std::string print(const Graph& graph);
/// Throws InvalidArgument with the line number; the result is verified.
Graph parse_graph(std::string_view text, const OpSet& ops);
/// Throws InvalidArgument naming the node: types, attributes, order, names, states.
void verify(const Graph& graph, const OpSet& ops);
/// Without nodes whose values nobody needs.
Graph remove_dead_nodes(Graph graph);

}  // namespace partita
