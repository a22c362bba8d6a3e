#include "compiler/search/forward_nodes.h"

#include <algorithm>
#include <map>

#include "compiler/search/keys.h"

namespace partita {

ForwardNodes::ForwardNodes(const Graph& graph, const Rules& rules, const OpSet& ops, bool traced)
    : graph_(graph),
      rules_(rules),
      ops_(ops),
      traced_(traced),
      uses_(graph.values.size()),
      state_(graph.values.size(), -1),
      stored_(graph.values.size(), -1),
      input_(graph.values.size(), -1) {
  index();
  find_gradients();
  find_sums();
}

void ForwardNodes::index() {
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (node.phase == Phase::backward) trains_ = true;
    if (!node.recompute.empty() && !is_forward(n)) ++copies_[node.origin];
    if (!is_forward(n)) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) uses_[node.inputs[i]].push_back({n, i});
  }
  for (size_t i = 0; i < graph_.inputs.size(); ++i) input_[graph_.inputs[i].value] = static_cast<int>(i);
  for (size_t s = 0; s < graph_.states.size(); ++s) {
    const State& state = graph_.states[s];
    state_[state.entry] = static_cast<int>(s);
    if (state.exit >= 0) stored_[state.exit] = static_cast<int>(s);
  }
  const auto places = graph_.states_by_name();
  for (const State& state : graph_.states) {
    const auto owner = places.find(state.owner);
    if (state.owner.empty() || owner == places.end()) continue;
    const bool is_alike = graph_.type(state.entry).shape == graph_.type(graph_.states[owner->second].entry).shape;
    if (is_alike) ++optimizer_states_[state.owner];
  }
}

/// Sets `programs_`. Finds, as autodiff does, which values depend on trained parameters and which of them receive
/// gradients.
void ForwardNodes::find_gradients() {
  programs_.resize(graph_.nodes.size());
  std::vector<bool> depends(graph_.values.size(), false), arrives(graph_.values.size(), false);
  for (const State& state : graph_.states) {
    if (is_trained(state)) depends[state.entry] = true;
  }
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (!is_forward(n)) continue;
    const bool any = any_marked(node.inputs, depends);
    for (ValueId output : node.outputs) depends[output] = any;
  }
  for (const Output& output : graph_.outputs) {
    if (output.name == "loss") arrives[output.value] = true;
  }
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    if (!is_forward(n)) continue;
    const Node& node = graph_.nodes[n];
    NodeGradients gradients;
    for (ValueId output : node.outputs) gradients.arriving.push_back(arrives[output] && depends[output]);
    for (ValueId input : node.inputs) gradients.wanted.push_back(depends[input]);
    if (const auto copies = copies_.find(node.name); copies != copies_.end()) gradients.copies = copies->second;
    programs_[n] = program_of(n, gradients);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (programs_[n]->given()[i] >= 0) arrives[node.inputs[i]] = true;
    }
  }
}

/// Returns the gradient that `node` gives to an operand, or -1 if it is not found. The program of `node` must give one.
/// `backward` has the backward nodes of `node` in order, `gradients` the gradients of its results, by value, or -1. A
/// gradient that the node passes on unchanged is that of its result. The maker of any other is the backward node at the
/// position that it has among the live gradient nodes of the program; -1 if the ops up to there differ.
ValueId ForwardNodes::given_by(size_t node, size_t operand, const std::vector<size_t>& backward,
                               const std::vector<ValueId>& gradients) const {
  const NodeProgram& own = program(node);
  const ValueId given = own.given()[operand];
  for (size_t k = 0; k < own.arriving().size(); ++k) {
    if (given == own.arriving()[k]) return gradients[graph_.nodes[node].outputs[k]];
  }
  size_t place = 0;
  for (size_t n = 1; n < own.graph().nodes.size(); ++n) {
    if (!own.is_live(n)) continue;
    if (place == backward.size() || graph_.nodes[backward[place]].op != own.graph().nodes[n].op) return -1;
    if (own.graph().values[given].producer == static_cast<NodeId>(n)) {
      return graph_.nodes[backward[place]].outputs[own.graph().values[given].output];
    }
    ++place;
  }
  return -1;
}

/// Sets `sums_`: finds the nodes that sum gradients. As in autodiff, the users of a value contribute their gradients in
/// reverse order.
void ForwardNodes::find_sums() {
  sums_.resize(graph_.values.size());
  std::unordered_map<std::string, std::vector<size_t>> backward;  // by origin
  std::map<std::pair<ValueId, ValueId>, size_t> adds;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (node.phase != Phase::backward || !node.recompute.empty()) continue;
    backward[node.origin].push_back(n);
    if (node.origin.empty() && node.inputs.size() == 2) adds.emplace(std::pair(node.inputs[0], node.inputs[1]), n);
  }
  std::vector<ValueId> gradients(graph_.values.size(), -1);
  std::vector<bool> arrived(graph_.values.size(), false);
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    if (!is_forward(n)) continue;
    const Node& node = graph_.nodes[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (program(n).given()[i] < 0) continue;
      const ValueId given = given_by(n, i, backward[node.name], gradients);
      ValueId& sum = gradients[node.inputs[i]];
      if (!arrived[node.inputs[i]]) {
        arrived[node.inputs[i]] = true;
        sum = given;
        continue;
      }
      const auto add = adds.find({sum, given});
      sum = add == adds.end() ? -1 : graph_.nodes[add->second].outputs[0];
      if (add != adds.end()) sums_[node.inputs[i]].push_back(add->second);
    }
  }
}

int64_t ForwardNodes::optimizer_states(const State& state) const {
  const auto found = optimizer_states_.find(graph_.values[state.entry].name);
  return found == optimizer_states_.end() ? 0 : found->second;
}

const NodeProgram* ForwardNodes::program_of(size_t n, const NodeGradients& gradients) {
  const Node& node = graph_.nodes[n];
  std::string key;
  add_pointer(key, &rules_[n]);
  for (ValueId input : node.inputs) {
    add_integer(key, std::ranges::find(node.inputs, input) - node.inputs.begin());
  }
  for (const auto* flags : {&gradients.arriving, &gradients.wanted}) {
    for (const bool flag : *flags) key += flag ? '1' : '0';
  }
  add_integer(key, gradients.copies);
  std::unique_ptr<NodeProgram>& cached = program_cache_[key];
  if (!cached) cached = std::make_unique<NodeProgram>(graph_, node, ops_, gradients, traced_);
  return cached.get();
}

}  // namespace partita
