#include "compiler/plan/assign_stages.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/plan/balance_stages.h"
#include "compiler/plan/layer_names.h"

namespace partita {
namespace {

std::string line_of(const Node& node) {
  return node.source.file.empty() ? "" : fmt::format(" ({}:{})", node.source.file, node.source.line);
}

std::string described_with_stage(const Node& node, int stage) {
  return fmt::format("{}{} of stage {}", node.scope.empty() ? node.name : node.scope + "/" + node.name, line_of(node),
                     stage);
}

class StageAssigner {
 public:
  StageAssigner(const Graph& graph, const Rules& rules, int64_t stages)
      : graph_(graph), rules_(rules), stage_of_(graph.values.size(), kEveryStage) {
    int highest = -1;
    for (const Node& node : graph.nodes) {
      if (node.phase == Phase::forward) highest = std::max(highest, node.stage);
    }
    has_annotations_ = highest >= 0;
    if (stages == 1) highest = 0;
    result_.stages = stages > 0 ? stages : highest + 1;
    result_.stages = std::max<int64_t>(result_.stages, 1);
    if (highest >= result_.stages) {
      throw InvalidArgument(
          "[stages] a layer is on a stage that does not exist, got stage {} of {}, expected stages 0 to {}", highest,
          result_.stages, result_.stages - 1);
    }
    result_.nodes.assign(graph.nodes.size(), kEveryStage);
    result_.states.assign(graph.states.size(), 0);
  }

  StageAssignment run() {
    if (result_.stages == 1) {
      result_.nodes.assign(graph_.nodes.size(), 0);
      return std::move(result_);
    }
    is_free_node_ = free_nodes(graph_);
    users_ = graph_.users();
    assign_forward();
    check_order();
    check_owners();
    own_states();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) assign_later(n);
    return std::move(result_);
  }

 private:
  void set(size_t n, int stage) {
    result_.nodes[n] = stage;
    for (const ValueId output : graph_.nodes[n].outputs) stage_of_[output] = stage;
  }

  bool is_forward(size_t n) const { return graph_.nodes[n].phase == Phase::forward && !is_free_node_[n]; }

  void assign_forward() {
    std::vector<int> wanted(graph_.nodes.size(), -1);
    if (has_annotations_) {
      for (size_t n = 0; n < wanted.size(); ++n) wanted[n] = graph_.nodes[n].stage;
    } else {
      wanted = balance_stages(graph_, rules_, is_free_node_, result_.stages);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_forward(n)) continue;
      int stage = wanted[n];
      for (const ValueId input : graph_.nodes[n].inputs) {
        if (wanted[n] < 0) stage = std::max(stage, stage_of_[input]);
      }
      if (stage >= 0) set(n, stage);
    }
    // A node that depends only on inputs and states is on the stage that uses it first.
    std::vector<int> lowest_user(graph_.values.size(), std::numeric_limits<int>::max());
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (!is_forward(n)) continue;
      const Node& node = graph_.nodes[n];
      if (result_.nodes[n] < 0) {
        int stage = std::numeric_limits<int>::max();
        for (const ValueId output : node.outputs) stage = std::min(stage, lowest_user[output]);
        set(n, stage == std::numeric_limits<int>::max() ? 0 : stage);
      }
      for (const ValueId input : node.inputs) lowest_user[input] = std::min(lowest_user[input], result_.nodes[n]);
    }
  }

  void check_order() const {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_forward(n)) continue;
      for (const ValueId input : graph_.nodes[n].inputs) {
        if (stage_of_[input] <= result_.nodes[n]) continue;
        const Node& producer = graph_.nodes[graph_.values[input].producer];
        throw InvalidArgument(
            "[stages] a node needs the result of a later stage, got {}, which uses {}, expected it on stage {} or "
            "later",
            described_with_stage(graph_.nodes[n], result_.nodes[n]), described_with_stage(producer, stage_of_[input]),
            stage_of_[input]);
      }
    }
  }

  void check_owners() const {
    std::vector<int64_t> nodes(static_cast<size_t>(result_.stages), 0);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_forward(n)) ++nodes[static_cast<size_t>(result_.nodes[n])];
    }
    const auto empty = std::ranges::find(nodes, 0);
    if (empty == nodes.end()) return;
    const int64_t used = std::ranges::count_if(nodes, [](int64_t count) { return count > 0; });
    throw InvalidArgument(
        "[stages] a stage has no layers, got none on stage {} of {}, expected layers on each, or {} stages",
        empty - nodes.begin(), result_.stages, used);
  }

  void own_states() {
    const auto places = graph_.states_by_name();
    std::vector<int> lowest(graph_.values.size(), std::numeric_limits<int>::max());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_forward(n)) continue;
      for (const ValueId input : graph_.nodes[n].inputs) lowest[input] = std::min(lowest[input], result_.nodes[n]);
    }
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const State* state = &graph_.states[s];
      if (state->kind == StateKind::counter) {
        result_.states[s] = kEveryStage;
        continue;
      }
      if (const auto owner = places.find(state->owner); owner != places.end()) state = &graph_.states[owner->second];
      const int stage = lowest[state->entry];
      result_.states[s] = stage == std::numeric_limits<int>::max() ? 0 : stage;
      stage_of_[graph_.states[s].entry] = result_.states[s];
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) origins_.emplace(graph_.nodes[n].name, n);
  }

  /// Assigns node `n` if it is of the backward pass or the update: to the stage of its origin or its state, to that of
  /// its user if it only widens, else to the lowest stage of its operands. Nodes of `free_nodes`, and updates of
  /// scalars only without a state, stay on every stage.
  void assign_later(size_t n) {
    const Node& node = graph_.nodes[n];
    if (is_free_node_[n] || node.phase == Phase::forward) return;
    if (node.phase == Phase::backward) {
      const auto origin = origins_.find(node.origin);
      if (origin != origins_.end() && result_.nodes[origin->second] >= 0) return set(n, result_.nodes[origin->second]);
      const int user = widens(n) ? stage_of_user(n) : -1;
      return set(n, user >= 0 ? user : lowest_of(node));
    }
    // An update is where its state is. Scalars combined from several stages are computed by each stage that needs them.
    int state = kEveryStage;
    bool scalars = true;
    for (const ValueId input : node.inputs) {
      scalars = scalars && graph_.type(input).elements() == 1;
      if (graph_.values[input].producer < 0 && stage_of_[input] >= 0) state = stage_of_[input];
    }
    for (const ValueId output : node.outputs) scalars = scalars && graph_.type(output).elements() == 1;
    if (state >= 0) return set(n, state);
    if (!scalars) set(n, lowest_of(node));
  }

  /// Whether node `n` only gives its operand more digits: its user gets fewer bytes from another stage without them.
  bool widens(size_t n) const {
    const Node& node = graph_.nodes[n];
    return rules_.op(n).traits.is_conversion &&
           size_of(graph_.type(node.outputs[0]).dtype) > size_of(graph_.type(node.inputs[0]).dtype);
  }

  /// Returns the stage of the forward node whose gradient the next user of node `n` computes; -1 if it has none.
  int stage_of_user(size_t n) const {
    const std::vector<NodeId>& users = users_[graph_.nodes[n].outputs[0]];
    if (users.empty()) return -1;
    const auto origin = origins_.find(graph_.nodes[users[0]].origin);
    return origin == origins_.end() ? -1 : result_.nodes[origin->second];
  }

  int lowest_of(const Node& node) const {
    int stage = std::numeric_limits<int>::max();
    for (const ValueId input : node.inputs) {
      if (stage_of_[input] >= 0) stage = std::min(stage, stage_of_[input]);
    }
    return stage == std::numeric_limits<int>::max() ? 0 : stage;
  }

  const Graph& graph_;
  const Rules& rules_;
  bool has_annotations_ = false;
  std::vector<int> stage_of_;  // per value
  std::vector<bool> is_free_node_;
  std::vector<std::vector<NodeId>> users_;  // per value
  std::unordered_map<std::string_view, size_t> origins_;
  StageAssignment result_;
};

}  // namespace

void annotate_stages(Graph& graph, const std::vector<StageAnnotation>& annotations) {
  std::vector<const StageAnnotation*> chosen(graph.nodes.size(), nullptr);
  const LayerNames names(graph);
  for (const StageAnnotation& annotation : annotations) {
    for (const size_t n : names.nodes_of(annotation.layers, "stages")) {
      Node& node = graph.nodes[n];
      if (chosen[n] != nullptr && chosen[n]->stage != annotation.stage) {
        throw InvalidArgument("[stages] a layer is on two stages, got '{}' and '{}' for {}, expected one",
                              print(*chosen[n]), print(annotation), path_of_node(node));
      }
      if (chosen[n] == nullptr && node.stage >= 0 && node.stage != annotation.stage) {
        throw InvalidArgument(
            "[stages] a layer is on two stages, got stage {} in the code and '{}' for {}{}, expected one", node.stage,
            print(annotation), path_of_node(node), line_of(node));
      }
      chosen[n] = &annotation;
      node.stage = annotation.stage;
    }
  }
}

std::vector<bool> free_nodes(const Graph& graph) {
  std::vector<bool> is_free(graph.values.size(), false), result(graph.nodes.size(), false);
  for (const State& state : graph.states) is_free[state.entry] = state.kind == StateKind::counter;
  for (const Input& input : graph.inputs) is_free[input.value] = input.batch_dim < 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    result[n] = std::ranges::all_of(node.inputs, [&](ValueId input) { return is_free[input]; });
    for (const ValueId output : node.outputs) is_free[output] = result[n];
  }
  return result;
}

StageAssignment assign_stages(const Graph& graph, const Rules& rules, int64_t stages) {
  return StageAssigner(graph, rules, stages).run();
}

}  // namespace partita
