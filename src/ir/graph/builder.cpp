#include "ir/graph/builder.h"

#include <algorithm>

namespace partita {

Type Value::type() const {
  PARTITA_CHECK(builder_ != nullptr, "an empty value has no type");
  return builder_->graph().type(id_);
}

Value Value::shard(const Strategy& inputs, const Strategy& outputs) const {
  PARTITA_CHECK(builder_ != nullptr, "an empty value is annotated");
  builder_->annotate(*this, {.inputs = inputs, .outputs = outputs});
  return *this;
}

Value Value::shard(const std::vector<TensorLayout>& inputs, const std::vector<TensorLayout>& outputs) const {
  PARTITA_CHECK(builder_ != nullptr, "an empty value is annotated");
  builder_->annotate(*this, annotation_of(inputs, outputs));
  return *this;
}

namespace {

/// Whether the node and its only result share a name, which is then entered once.
bool names_its_value(const Graph& graph, const Node& node) {
  return node.outputs.size() == 1 && graph.values[node.outputs[0]].name == node.name;
}

}  // namespace

Builder::Builder(const OpSet& ops, Graph graph) : ops_(ops), graph_(std::move(graph)) {
  names_.reserve(graph_.values.capacity());
  for (const ValueInfo& value : graph_.values) names_.insert(value.name);
  for (const Node& node : graph_.nodes) {
    if (!names_its_value(graph_, node)) names_.insert(node.name);
    ++name_counts_[node.op];
  }
  for (size_t s = 0; s < graph_.states.size(); ++s) index_state(s);
}

void Builder::own_gradient(NodeId begin, const std::vector<Value>& inputs, const std::vector<Value>& outputs,
                           std::function<std::vector<Value>(Builder&, const std::vector<Value>&)> gradient) {
  OwnGradient own{.begin = begin, .end = static_cast<NodeId>(graph_.nodes.size()), .gradient = std::move(gradient)};
  for (const Value& input : inputs) own.inputs.push_back(input.id());
  for (const Value& output : outputs) {
    if (graph_.values[output.id()].producer < begin) {
      throw InvalidArgument(
          "[gradient] the function does not compute this result, got '{}', expected one that it computes",
          graph_.values[output.id()].name);
    }
    if (std::ranges::find(own.outputs, output.id()) != own.outputs.end()) {
      throw InvalidArgument("[gradient] a result is given twice, got '{}', expected it once",
                            graph_.values[output.id()].name);
    }
    own.outputs.push_back(output.id());
  }
  for (NodeId n = begin; n < own.end; ++n) {
    for (const ValueId used : graph_.nodes[n].inputs) {
      const State* state = find_state(value(used));
      if (state == nullptr || state->kind != StateKind::parameter || !state->requires_grad) continue;
      if (std::ranges::find(own.inputs, used) != own.inputs.end()) continue;
      throw InvalidArgument(
          ErrorKind::type,
          "[gradient] a function with a custom gradient uses a parameter, got '{}', expected it as an input",
          graph_.values[used].name);
    }
  }
  graph_.own_gradients.push_back(std::move(own));
}

void Builder::index_state(size_t state) {
  const ValueId entry = graph_.states[state].entry;
  if (states_.size() <= static_cast<size_t>(entry)) states_.resize(static_cast<size_t>(entry) + 1, -1);
  states_[static_cast<size_t>(entry)] = static_cast<int>(state);
  states_by_name_.insert(graph_.values[entry].name);
}

const State* Builder::find_state(const std::string& name) const {
  const int64_t found = states_by_name_.find(name);
  return found < 0 ? nullptr : &graph_.states[static_cast<size_t>(found)];
}

State* Builder::find_state(Value value) {
  const auto entry = static_cast<size_t>(value.id());
  const int found = entry < states_.size() ? states_[entry] : -1;
  return found < 0 ? nullptr : &graph_.states[static_cast<size_t>(found)];
}

std::string Builder::unique_name(const std::string& base) {
  while (true) {
    const int count = ++name_counts_[base];
    std::string name = count == 1 ? base : base + fmt::to_string(count);
    if (names_.insert(name)) return name;
  }
}

Value Builder::input(const std::string& name, const Type& type, int batch_dim) {
  if (type.rank() > kMaxDims) {
    throw InvalidArgument("[graph] '{}' has too many dimensions, got {}, expected at most {}", name, type.rank(),
                          kMaxDims);
  }
  if (!names_.insert(name)) {
    throw InvalidArgument("[graph] two values have the same name, got '{}' again, expected another name", name);
  }
  const ValueId id = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back({type, name, /*producer=*/-1, /*output=*/0});
  graph_.inputs.push_back({id, batch_dim});
  return Value(this, id);
}

Value Builder::state(const std::string& name, const Type& type, State description) {
  if (const State* known = find_state(name)) {
    if (graph_.type(known->entry) != type) {
      throw InvalidArgument("[state] '{}' is used with two types, got {}, expected {}", name, print(type),
                            print(graph_.type(known->entry)));
    }
    return Value(this, known->entry);
  }
  const Value entry = input(name, type);
  graph_.inputs.pop_back();
  description.entry = entry.id();
  graph_.states.push_back(std::move(description));
  index_state(graph_.states.size() - 1);
  return entry;
}

void Builder::store(Value state, Value exit) {
  State* known = find_state(state);
  PARTITA_CHECK(known != nullptr, "'{}' is not a state", graph_.values[state.id()].name);
  if (known->exit >= 0) {
    throw InvalidArgument("[store] state '{}' is written twice, expected one store", graph_.values[known->entry].name);
  }
  if (state.type() != exit.type()) {
    throw InvalidArgument("[store] state '{}' gets another type, got {}, expected {}", graph_.values[known->entry].name,
                          print(exit.type()), print(state.type()));
  }
  known->exit = exit.id();
}

void Builder::output(const std::string& name, Value value) { graph_.outputs.push_back({name, value.id()}); }

void Builder::annotate(Value value, ShardingAnnotation annotation) {
  const ValueInfo& info = graph_.values[value.id()];
  if (info.producer < 0) {
    throw InvalidArgument("[shard] no node made the value, got '{}', expected a result of an op", info.name);
  }
  graph_.nodes[info.producer].annotation = std::move(annotation);
}

void Builder::layerwise(Value state, int dim) {
  State* known = find_state(state);
  if (known == nullptr) {
    throw InvalidArgument("[layerwise] only parameters can be layerwise, got '{}', expected a parameter",
                          graph_.values[state.id()].name);
  }
  const Type& type = graph_.type(known->entry);
  if (dim < 0 || dim >= type.rank()) {
    throw InvalidArgument(ErrorKind::index, "[layerwise] '{}' has no such dimension, got {} of {}, expected 0 to {}",
                          graph_.values[known->entry].name, dim, partita::print(type), type.rank() - 1);
  }
  known->layerwise = dim;
}

std::vector<Value> Builder::apply_all(std::string_view op_name, const std::vector<Value>& inputs, const Attrs& attrs) {
  const OpDef& op = ops_.at(op_name);
  if (!attrs.empty() && !attrs.same_type(op.attrs)) {
    throw InvalidArgument(ErrorKind::type, "[{}] attributes of another op, got {}, expected {}", op.name, attrs.print(),
                          op.attrs.empty() ? "none" : op.attrs.print());
  }
  Node node{.op = op.name, .attrs = attrs.empty() ? op.attrs : attrs};
  std::vector<Type> input_types;
  for (const Value& input : inputs) {
    PARTITA_CHECK(input && &input.builder() == this, "operand of {} is empty or of another graph", op_name);
    node.inputs.push_back(input.id());
    input_types.push_back(input.type());
  }
  std::vector<Type> output_types = op.infer({node.attrs, input_types, {}});
  node.name = unique_name(op.name);
  node.scope = scope;
  node.source = source;
  node.phase = phase;
  node.origin = origin;
  node.recompute = recompute;
  node.stage = stage;
  std::vector<std::string> names;
  for (size_t k = 0; k < output_types.size(); ++k) {
    names.push_back(output_types.size() == 1 ? node.name : fmt::format("{}.{}", node.name, k));
  }
  return append(std::move(node), std::move(output_types), std::move(names));
}

std::vector<Value> Builder::append(Node node, std::vector<Type> types, std::vector<std::string> names) {
  const NodeId node_id = static_cast<NodeId>(graph_.nodes.size());
  std::vector<Value> outputs;
  for (size_t k = 0; k < types.size(); ++k) {
    const ValueId id = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({std::move(types[k]), std::move(names[k]), node_id, static_cast<int>(k)});
    node.outputs.push_back(id);
    outputs.emplace_back(this, id);
  }
  graph_.nodes.push_back(std::move(node));
  return outputs;
}

std::vector<Value> Builder::copy_node(const Graph& from, const Node& node, const std::vector<Value>& inputs) {
  Node copy = node;
  copy.inputs.clear();
  copy.outputs.clear();
  for (const Value& input : inputs) copy.inputs.push_back(input.id());
  std::vector<std::string> names;
  for (ValueId output : node.outputs) names.push_back(from.values[output].name);
  return append(std::move(copy), from.types(node.outputs), std::move(names));
}

void Builder::reserve_names(const Graph& from) {
  for (const ValueInfo& value : from.values) names_.insert(value.name);
  for (const Node& node : from.nodes) {
    if (!names_its_value(from, node)) names_.insert(node.name);
  }
}

Value Builder::apply(std::string_view op, const std::vector<Value>& inputs, const Attrs& attrs) {
  return apply_all(op, inputs, attrs).at(0);
}

}  // namespace partita
