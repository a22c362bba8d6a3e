#include "autodiff/recompute.h"

#include <algorithm>
#include <unordered_map>

#include "graph/builder.h"

namespace partita {
namespace {

/// "net/h/3" of "net/h/3/attn/q"; "" when no part of a scope is a number.
std::string block_of(const std::string& scope) {
  for (size_t begin = 0; begin < scope.size();) {
    const size_t end = std::min(scope.find('/', begin), scope.size());
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (end > begin && std::all_of(scope.begin() + static_cast<std::ptrdiff_t>(begin),
                                   scope.begin() + static_cast<std::ptrdiff_t>(end), is_digit)) {
      return scope.substr(0, end);
    }
    begin = end + 1;
  }
  return "";
}

class Recomputer {
 public:
  Recomputer(const Graph& from, const OpSet& ops)
      : from_(from), rest_(ops, head_of(from)), made_(from.values.size()), again_(from.values.size()) {
    rest_.reserve_names(from);
    for (const Input& input : from.inputs) made_[input.value] = rest_.value(rest_.graph().inputs[count_++].value);
    count_ = 0;
    for (const State& state : from.states) made_[state.entry] = rest_.value(rest_.graph().states[count_++].entry);
    find_dropped();
  }

  Graph run() {
    for (const Node& node : from_.nodes) {
      std::vector<Value> operands;
      for (const ValueId input : node.inputs) {
        operands.push_back(node.phase == Phase::backward && dropped_[input] ? again(input) : made_[input]);
      }
      const std::vector<Value> results = rest_.copy_node(from_, node, operands);
      for (size_t k = 0; k < results.size(); ++k) made_[node.outputs[k]] = results[k];
    }
    for (const State& state : from_.states) {
      if (state.exit >= 0) rest_.store(made_[state.entry], made_[state.exit]);
    }
    for (const Output& output : from_.outputs) rest_.output(output.name, made_[output.value]);
    return rest_.take();
  }

 private:
  /// Inputs and states keep their order and names.
  static Graph head_of(const Graph& from) {
    Graph head{.name = from.name};
    const auto keep = [&](ValueId old) {
      head.values.push_back(from.values[old]);
      return static_cast<ValueId>(head.values.size()) - 1;
    };
    for (const Input& input : from.inputs) head.inputs.push_back({keep(input.value), input.batch_dim});
    for (State state : from.states) {
      state.entry = keep(state.entry);
      state.exit = -1;
      head.states.push_back(std::move(state));
    }
    return head;
  }

  const Node* chosen(ValueId value) const {
    const NodeId producer = from_.values[value].producer;
    if (producer < 0) return nullptr;
    const Node& node = from_.nodes[producer];
    return node.phase == Phase::forward && !node.recompute.empty() ? &node : nullptr;
  }

  /// Values that the backward does not find: of chosen nodes, and used by none outside of the group in the forward.
  void find_dropped() {
    std::unordered_map<std::string, int> sizes;
    for (const Node& node : from_.nodes) {
      if (node.phase == Phase::forward && !node.recompute.empty()) ++sizes[node.recompute];
    }
    dropped_.resize(from_.values.size(), false);
    for (size_t v = 0; v < dropped_.size(); ++v) dropped_[v] = chosen(static_cast<ValueId>(v)) != nullptr;
    for (const Node& node : from_.nodes) {
      if (node.phase != Phase::forward) continue;
      for (const ValueId input : node.inputs) {
        const Node* producer = chosen(input);
        if (producer && producer->recompute != node.recompute && sizes.at(producer->recompute) > 1) {
          dropped_[input] = false;
        }
      }
    }
    for (const Output& output : from_.outputs) dropped_[output.value] = false;
    for (const State& state : from_.states) {
      if (state.exit >= 0) dropped_[state.exit] = false;
    }
  }

  /// The value, made again by a copy of its node and, where they are not kept either, of those before it.
  Value again(ValueId value) {
    if (again_[value]) return again_[value];
    // Those before it first, without recursion: a block may be thousands of nodes deep.
    std::vector<ValueId> open{value};
    while (!open.empty()) {
      const ValueId next = open.back();
      const Node& node = from_.nodes[from_.values[next].producer];
      const size_t before = open.size();
      for (const ValueId input : node.inputs) {
        if (dropped_[input] && !again_[input]) open.push_back(input);
      }
      if (open.size() > before) continue;
      open.pop_back();
      if (!again_[next]) copy(node);
    }
    return again_[value];
  }

  void copy(const Node& node) {
    std::vector<Value> operands;
    for (const ValueId input : node.inputs) operands.push_back(dropped_[input] ? again_[input] : made_[input]);
    rest_.phase = Phase::backward;
    rest_.scope = node.scope;
    rest_.source = node.source;
    rest_.origin = node.name;
    rest_.recompute = node.recompute;
    const std::vector<Value> results = rest_.apply_all(node.op, operands, node.attrs);
    for (size_t k = 0; k < results.size(); ++k) again_[node.outputs[k]] = results[k];
  }

  const Graph& from_;
  Builder rest_;
  size_t count_ = 0;
  std::vector<Value> made_, again_;  // per value: as in the forward, and made again
  std::vector<bool> dropped_;        // per value
};

}  // namespace

void choose_recomputed(Graph& forward, Recompute policy) {
  if (policy == Recompute::none) return;
  bool any = false;
  for (Node& node : forward.nodes) {
    const bool full = policy == Recompute::full;
    const std::string group = full ? block_of(node.scope) : node.op == "attention" ? node.name : "";
    if (group.empty()) continue;
    any = true;
    if (node.recompute.empty()) node.recompute = group;
  }
  if (any) return;
  throw InvalidArgument(
      fmt::format("[--recompute] nothing to recompute in graph {}, got {}, expected none: it has no {}", forward.name,
                  name_of(policy), policy == Recompute::full ? "blocks in numbered scopes" : "attention"));
}

Graph recompute_in_backward(const Graph& training, const OpSet& ops) {
  const bool any = std::any_of(training.nodes.begin(), training.nodes.end(),
                               [](const Node& node) { return !node.recompute.empty(); });
  return any ? remove_dead_nodes(Recomputer(training, ops).run()) : training;
}

}  // namespace partita
