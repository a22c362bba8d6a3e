#include "compiler/partition/prologue.h"

#include <algorithm>

#include "compiler/partition/collectives.h"
#include "compiler/partition/sections.h"
#include "compiler/partition/used_names.h"
#include "ir/sharding/micro.h"

namespace partita {
namespace {

class PrologueFinder {
 public:
  explicit PrologueFinder(const LocalGraph& local)
      : local_(local),
        nodes_(local.graph.nodes),
        joined_(local.graph.values.size(), false),
        needed_(local.graph.values.size(), false),
        found_{std::vector<bool>(nodes_.size(), false), std::vector<bool>(nodes_.size(), false)} {}

  Prologue run() {
    if (local_.mesh.micro_axis() < 0) return std::move(found_);
    find_joined();
    for (size_t n = nodes_.size(); n-- > 0;) visit(n);
    for (const Input& input : local_.graph.inputs) {
      const bool comes_in_time = input.from_stage < 0 || input.once || !needed_[input.value];
      PARTITA_CHECK(comes_in_time, "%{} is needed before the first micro-batch, and stage {} makes it later",
                    local_.graph.values[input.value].name, input.from_stage);
    }
    return std::move(found_);
  }

 private:
  /// Sets `joined_`: which values are complete only after all micro-batches.
  void find_joined() {
    for (const Input& input : local_.graph.inputs) {
      const bool is_whole = micro_sharding(local_.shardings[input.value], local_.mesh).whole();
      joined_[input.value] = input.from_stage >= 0 && is_whole && !input.once;
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const bool joins = joins_micro_batches(nodes_[n]);
      const bool depends =
          !runs_in_micro_batches(local_, static_cast<NodeId>(n)) && any_marked(nodes_[n].inputs, joined_);
      for (const ValueId output : nodes_[n].outputs) {
        joined_[output] = joins || depends || nodes_[n].phase == Phase::update;
      }
    }
  }

  void visit(size_t n) {
    const Node& node = nodes_[n];
    const bool in_loop = runs_in_micro_batches(local_, static_cast<NodeId>(n));
    const bool is_needed = any_marked(node.outputs, needed_);
    found_.loop[n] = is_needed && in_loop;
    found_.joined[n] = is_needed && !in_loop && joined_[node.outputs[0]];
    PARTITA_CHECK(!found_.joined[n] || node.phase != Phase::update, "{} is an update, and needed before it", node.name);
    PARTITA_CHECK(!found_.loop[n] || !any_marked(node.inputs, joined_),
                  "{} runs in a micro-batch and needs all of them", node.name);
    for (const ValueId input : node.inputs) {
      if (found_.loop[n] || found_.joined[n] || (in_loop && joined_[input])) needed_[input] = true;
    }
  }

  const LocalGraph& local_;
  const std::vector<Node>& nodes_;
  std::vector<bool> joined_;  // per value
  std::vector<bool> needed_;  // per value: whether it is needed before the first micro-batch
  Prologue found_;
};

/// Rebuilds a graph with copies of the loop's nodes that other nodes also need.
class PrologueCopier {
 public:
  PrologueCopier(LocalGraph local, Prologue prologue)
      : from_(std::move(local)),
        loop_(std::move(prologue.loop)),
        is_shared_(loop_.size(), false),
        new_value_(from_.graph.values.size(), -1),
        copied_value_(from_.graph.values.size(), -1) {
    for (const ValueInfo& value : from_.graph.values) names_.add(value.name);
    for (const Node& node : from_.graph.nodes) names_.add(node.name);
    to_ = {{.graph = {.name = from_.graph.name}, .mesh = from_.mesh, .sections = from_.sections}};
  }

  LocalGraph run() {
    find_shared();
    for (size_t v = 0; v < new_value_.size(); ++v) {
      if (from_.graph.values[v].producer < 0) new_value_[v] = add_value(v, from_.graph.values[v]);
    }
    for (size_t n = 0; n < loop_.size(); ++n) {
      add_node(n, from_.graph.nodes[n]);
      if (is_shared_[n]) add_copy(n);
    }
    to_.graph.inputs = std::move(from_.graph.inputs);
    to_.graph.states = std::move(from_.graph.states);
    to_.graph.outputs = std::move(from_.graph.outputs);
    for (Input& input : to_.graph.inputs) input.value = new_value_[input.value];
    for (State& state : to_.graph.states) {
      state.entry = new_value_[state.entry];
      if (state.exit >= 0) state.exit = new_value_[state.exit];
    }
    for (Output& output : to_.graph.outputs) output.value = new_value_[output.value];
    return std::move(to_);
  }

 private:
  /// Sets `is_shared_`: which of the loop's nodes lead to nodes or outputs outside it. Nodes that join micro-batches
  /// are excluded, since their results are used only outside the loop.
  void find_shared() {
    std::vector<bool> used(new_value_.size(), false);
    for (const Output& output : from_.graph.outputs) used[output.value] = true;
    for (size_t n = loop_.size(); n-- > 0;) {
      const Node& node = from_.graph.nodes[n];
      const bool is_used = any_marked(node.outputs, used);
      is_shared_[n] = loop_[n] && is_used && !joins_micro_batches(node);
      if (loop_[n] && !is_shared_[n]) continue;
      for (const ValueId input : node.inputs) used[input] = true;
    }
  }

  ValueId add_value(size_t value, ValueInfo info) {
    to_.graph.values.push_back(std::move(info));
    to_.shardings.push_back(from_.shardings[value]);
    return static_cast<ValueId>(to_.graph.values.size()) - 1;
  }

  void append(size_t n, Node node) {
    to_.graph.nodes.push_back(std::move(node));
    to_.cuts.push_back(from_.cuts[n]);
  }

  void add_node(size_t n, Node node) {
    for (ValueId& input : node.inputs) input = loop_[n] && !is_shared_[n] ? operand_of_copy(input) : new_value_[input];
    for (ValueId& output : node.outputs) {
      ValueInfo info = from_.graph.values[output];
      info.producer = static_cast<NodeId>(to_.graph.nodes.size());
      output = new_value_[output] = add_value(output, std::move(info));
    }
    append(n, std::move(node));
  }

  void add_copy(size_t n) {
    Node node = from_.graph.nodes[n];
    const std::string name = names_.make(node.name, name_of(Section::prologue));
    for (ValueId& input : node.inputs) input = operand_of_copy(input);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const auto old = static_cast<size_t>(node.outputs[k]);
      ValueInfo info = from_.graph.values[old];
      info.producer = static_cast<NodeId>(to_.graph.nodes.size());
      info.name = k == 0 ? name : fmt::format("{}.{}", name, k);
      node.outputs[k] = copied_value_[old] = add_value(old, std::move(info));
    }
    node.name = name;
    append(n, std::move(node));
  }

  ValueId operand_of_copy(ValueId value) const {
    return copied_value_[value] >= 0 ? copied_value_[value] : new_value_[value];
  }

  LocalGraph from_, to_;
  std::vector<bool> loop_, is_shared_;             // per node
  std::vector<ValueId> new_value_, copied_value_;  // per value; -1: none
  UsedNames names_;
};

}  // namespace

Prologue find_prologue(const LocalGraph& local) { return PrologueFinder(local).run(); }

LocalGraph with_own_prologue(LocalGraph local) {
  Prologue prologue = find_prologue(local);
  if (std::ranges::find(prologue.loop, true) == prologue.loop.end()) return local;
  return PrologueCopier(std::move(local), std::move(prologue)).run();
}

}  // namespace partita
