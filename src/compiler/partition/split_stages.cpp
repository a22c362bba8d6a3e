#include "compiler/partition/split_stages.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/plan/cut_micro_batches.h"

namespace partita {
namespace {

using StageSet = std::set<int>;

/// Returns the sharding that a value, a state or a node's result, has under `plan` after its partial sums over ranks
/// are reduced. `states`: the index of each state by its value.
std::vector<Axes> sent_dims(const Graph& graph, const Rules& rules, const Plan& plan,
                            const std::unordered_map<ValueId, size_t>& states, ValueId value) {
  if (const auto placed = plan.results.find(value); placed != plan.results.end()) return placed->second;
  const NodeId producer = graph.values[value].producer;
  if (producer < 0) return plan.inputs[graph.inputs.size() + states.at(value)];
  return output_sharding(rules[producer], plan.cuts[producer], graph.values[value].output).dims;
}

/// Returns `dims` cut further over each axis of ranks that does not cut them yet, in the first dimension where that is
/// legal, so that each element is sent and received once.
std::vector<Axes> cut_further(const Type& type, std::vector<Axes> dims, const Mesh& mesh) {
  const auto is_used = [&](int axis) {
    return std::ranges::any_of(dims, [&](const Axes& axes) { return std::ranges::find(axes, axis) != axes.end(); });
  };
  for (int axis = 0; axis < static_cast<int>(mesh.rank_axes()); ++axis) {
    if (is_used(axis)) continue;
    for (Axes& axes : dims) {
      axes.push_back(axis);
      if (illegal(type, dims, mesh).empty()) break;
      axes.pop_back();
    }
  }
  return dims;
}

class StageSplitter {
 public:
  StageSplitter(const Graph& graph, const Rules& rules, const StageAssignment& stages, const std::vector<Plan>& plans)
      : graph_(graph),
        rules_(rules),
        stages_(stages),
        plans_(plans),
        operands_(graph.nodes.size()),
        runs_on_(graph.nodes.size()),
        used_on_(graph.values.size()),
        needed_early_(graph.values.size()),
        sent_to_(graph.values.size()) {
    for (size_t s = 0; s < graph.states.size(); ++s) states_.emplace(graph.states[s].entry, s);
  }

  std::vector<StagePart> run() {
    choose_operands();
    find_users();
    find_batch();
    std::vector<StagePart> parts;
    for (int stage = 0; stage < stages_.stages; ++stage) find_received(stage);
    for (int stage = 0; stage < stages_.stages; ++stage) parts.push_back(make_part(stage));
    return parts;
  }

 private:
  /// Sets `operands_`: the operands of each node, with the forward pass's result in place of one that another stage
  /// recomputes. What a stage recomputes serves its own backward pass only.
  void choose_operands() {
    std::unordered_map<std::string_view, size_t> forward;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].phase == Phase::forward) forward.emplace(graph_.nodes[n].name, n);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      operands_[n] = graph_.nodes[n].inputs;
      for (ValueId& operand : operands_[n]) {
        const NodeId producer = graph_.values[operand].producer;
        if (producer < 0 || stages_.nodes[producer] == stages_.nodes[n]) continue;
        const Node& node = graph_.nodes[producer];
        if (node.phase != Phase::backward || node.recompute.empty() || stages_.nodes[producer] < 0) continue;
        operand = graph_.nodes[forward.at(node.origin)].outputs[graph_.values[operand].output];
      }
    }
  }

  bool is_scalar(ValueId value) const { return graph_.type(value).elements() == 1; }

  /// Sets the stages on which nodes run, values are used (also before the update) and states are kept. Nodes of every
  /// stage run where their results are used.
  void find_users() {
    StageSet all;
    for (int stage = 0; stage < stages_.stages; ++stage) all.insert(stage);
    for (const Output& output : graph_.outputs) {
      if (is_scalar(output.value)) used_on_[output.value] = all;
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (stages_.nodes[n] >= 0) runs_on_[n] = {stages_.nodes[n]};
      for (size_t k = 0; k < node.outputs.size() && stages_.nodes[n] < 0; ++k) {
        runs_on_[n].insert(used_on_[node.outputs[k]].begin(), used_on_[node.outputs[k]].end());
      }
      for (const ValueId operand : operands_[n]) {
        used_on_[operand].insert(runs_on_[n].begin(), runs_on_[n].end());
        if (node.phase != Phase::update) needed_early_[operand].insert(runs_on_[n].begin(), runs_on_[n].end());
      }
    }
    // A counter is kept and incremented on every stage that uses it, or on the first if none does.
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const State& state = graph_.states[s];
      StageSet kept{std::max(0, stages_.states[s])};
      if (stages_.states[s] < 0 && !used_on_[state.entry].empty()) kept = used_on_[state.entry];
      if (state.exit >= 0) run_also(state.exit, kept);
      kept_on_.push_back(std::move(kept));
    }
  }

  /// Makes the nodes that lead to a value run on `stages` too, except for nodes that have a stage of their own and what
  /// leads to those.
  void run_also(ValueId value, const StageSet& stages) {
    std::vector<ValueId> open{value};
    while (!open.empty()) {
      const ValueId next = open.back();
      open.pop_back();
      used_on_[next].insert(stages.begin(), stages.end());
      const NodeId producer = graph_.values[next].producer;
      if (producer < 0 || stages_.nodes[producer] >= 0) continue;
      StageSet& runs = runs_on_[producer];
      if (std::includes(runs.begin(), runs.end(), stages.begin(), stages.end())) continue;
      runs.insert(stages.begin(), stages.end());
      open.insert(open.end(), operands_[producer].begin(), operands_[producer].end());
    }
  }

  /// Returns the stage that makes or holds a value, and so sends it, or -1 if each stage has or makes it itself.
  int home_of(ValueId value) const {
    const NodeId producer = graph_.values[value].producer;
    if (producer >= 0) return stages_.nodes[producer];
    const auto state = states_.find(value);
    return state == states_.end() ? -1 : stages_.states[state->second];
  }

  void find_received(int stage) {
    auto& received = received_.emplace_back();
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const auto value = static_cast<ValueId>(v);
      const int home = home_of(value);
      if (home < 0 || home == stage || !used_on_[v].contains(stage)) continue;
      received.push_back(value);
      sent_to_[v].push_back(stage);
    }
  }

  /// Whether a value is sent with the verdict: it is a scalar, and the stages that receive it use it only in the
  /// update.
  bool comes_with_verdict(ValueId value) const {
    return is_scalar(value) &&
           std::ranges::none_of(sent_to_[value], [&](int stage) { return needed_early_[value].contains(stage); });
  }

  /// Whether a value is sent before the first micro-batch: it depends only on states, and is not sent with the verdict.
  bool comes_once(ValueId value) const { return !of_batch_[value] && !comes_with_verdict(value); }

  void find_batch() {
    of_batch_.assign(graph_.values.size(), false);
    for (const Input& input : graph_.inputs) of_batch_[input.value] = true;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const bool found = any_marked(operands_[n], of_batch_);
      for (const ValueId output : graph_.nodes[n].outputs) of_batch_[output] = found;
    }
  }

  StagePart make_part(int stage) {
    const Plan& whole = plans_[static_cast<size_t>(stage)];
    StagePart part{.graph = {.name = graph_.name},
                   .plan = {.graph = whole.graph, .search = whole.search, .mesh = whole.mesh}};
    renamed_.assign(graph_.values.size(), -1);
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      Input input = graph_.inputs[i];
      if (!used_on_[input.value].contains(stage)) continue;
      input.value = keep(part.graph, input.value, -1);
      part.graph.inputs.push_back(input);
      part.plan.inputs.push_back(whole.inputs[i]);
    }
    for (const ValueId value : received_[static_cast<size_t>(stage)]) {
      part.graph.inputs.push_back({.value = keep(part.graph, value, -1),
                                   .from_stage = home_of(value),
                                   .once = comes_once(value),
                                   .verdict = comes_with_verdict(value)});
      part.plan.inputs.push_back(dims_between_stages(value, whole));
    }
    add_states(part, stage);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (runs_on_[n].contains(stage)) add_node(part, n, whole);
    }
    for (State& state : part.graph.states) {
      if (state.exit >= 0) state.exit = renamed_[state.exit];
    }
    add_outputs(part, stage);
    return part;
  }

  std::vector<Axes> dims_between_stages(ValueId value, const Plan& whole) const {
    return cut_further(graph_.type(value), sent_dims(graph_, rules_, whole, states_, value), whole.mesh);
  }

  ValueId keep(Graph& graph, ValueId value, NodeId producer) {
    renamed_[value] = static_cast<ValueId>(graph.values.size());
    graph.values.push_back(graph_.values[value]);
    graph.values.back().producer = producer;
    if (producer < 0) graph.values.back().output = 0;
    return renamed_[value];
  }

  void add_states(StagePart& part, int stage) {
    const Plan& whole = plans_[static_cast<size_t>(stage)];
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      if (!kept_on_[s].contains(stage)) continue;
      if (whole.regathered.contains(s)) part.plan.regathered.insert(part.graph.states.size());
      part.graph.states.push_back(graph_.states[s]);
      part.graph.states.back().entry = keep(part.graph, graph_.states[s].entry, -1);
      part.plan.inputs.push_back(whole.inputs[graph_.inputs.size() + s]);
    }
  }

  void add_node(StagePart& part, size_t n, const Plan& whole) {
    Node node = graph_.nodes[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) node.inputs[i] = renamed_[operands_[n][i]];
    const auto id = static_cast<NodeId>(part.graph.nodes.size());
    for (ValueId& output : node.outputs) {
      const ValueId before = output;
      output = keep(part.graph, before, id);
      if (const auto placed = whole.results.find(before); placed != whole.results.end()) {
        part.plan.results.emplace(output, placed->second);
      }
    }
    part.graph.nodes.push_back(std::move(node));
    part.plan.cuts.push_back(whole.cuts[n]);
  }

  void add_outputs(StagePart& part, int stage) {
    const Plan& whole = plans_[static_cast<size_t>(stage)];
    for (const Output& output : graph_.outputs) {
      const int home = home_of(output.value);
      if (renamed_[output.value] < 0 || (home != stage && !is_scalar(output.value))) continue;
      part.graph.outputs.push_back({.name = output.name, .value = renamed_[output.value]});
      if (const auto placed = whole.outputs.find(output.name); placed != whole.outputs.end()) {
        part.plan.outputs.emplace(output.name, placed->second);
      }
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const auto value = static_cast<ValueId>(v);
      if (sent_to_[v].empty() || home_of(value) != stage) continue;
      const std::string name = "sent." + graph_.values[v].name;
      part.graph.outputs.push_back({.name = name,
                                    .value = renamed_[v],
                                    .to_stages = sent_to_[v],
                                    .once = comes_once(value),
                                    .verdict = comes_with_verdict(value)});
      part.plan.outputs.emplace(name, dims_between_stages(value, whole));
    }
  }

  const Graph& graph_;
  const Rules& rules_;
  const StageAssignment& stages_;
  const std::vector<Plan>& plans_;
  std::unordered_map<ValueId, size_t> states_;  // by the value at entry
  std::vector<std::vector<ValueId>> operands_;  // per node
  std::vector<StageSet> runs_on_;               // per node
  std::vector<StageSet> used_on_;               // per value
  std::vector<StageSet> needed_early_;          // per value: stages that use it before the update
  std::vector<StageSet> kept_on_;               // per state
  std::vector<bool> of_batch_;                  // per value: whether it depends on inputs
  std::vector<std::vector<ValueId>> received_;  // per stage
  std::vector<std::vector<int>> sent_to_;       // per value
  std::vector<ValueId> renamed_;                // per value: its id in the part that is being made
};

}  // namespace

std::vector<StagePart> split_stages(const Graph& graph, const Rules& rules, const StageAssignment& stages,
                                    const std::vector<Plan>& plans) {
  if (stages.stages == 1) return {{graph, plans.at(0)}};
  StageAssignment own = stages;
  const std::vector<bool> before = before_micro_batches(plans.at(0), graph, rules);
  for (size_t n = 0; n < before.size(); ++n) {
    if (before[n]) own.nodes[n] = kEveryStage;
  }
  return StageSplitter(graph, rules, own, plans).run();
}

}  // namespace partita
