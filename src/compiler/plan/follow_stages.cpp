#include "compiler/plan/follow_stages.h"

#include <algorithm>

#include "compiler/plan/assign_stages.h"

namespace partita {
namespace {

/// Returns for each forward node its scope, op and the number of earlier ones with both, "net/fc1/matmul 0", and "" for
/// other nodes. Graphs of one network share these names.
std::vector<std::string> names_in_network(const Graph& graph) {
  std::vector<std::string> names;
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes) {
    const std::string place = fmt::format("{}/{}", node.scope, node.op);
    names.push_back(node.phase == Phase::forward ? fmt::format("{} {}", place, counts[place]++) : "");
  }
  return names;
}

/// Assigns a forward graph to the stages of another graph.
class StageFollower {
 public:
  StageFollower(const Graph& graph, const NamedStages& like)
      : graph_(graph),
        like_(like),
        is_free_(free_nodes(graph)),
        stage_of_(graph.values.size(), kEveryStage),
        result_{.stages = like.stages,
                .nodes = std::vector<int>(graph.nodes.size(), kEveryStage),
                .states = std::vector<int>(graph.states.size(), kEveryStage)} {}

  StageAssignment run() {
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const auto found = like_.states.find(graph_.values[graph_.states[s].entry].name);
      if (found == like_.states.end()) continue;
      result_.states[s] = stage_of_[graph_.states[s].entry] = found->second;
    }
    assign_after_operands();
    assign_before_users();
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      if (result_.states[s] != kEveryStage || graph_.states[s].kind == StateKind::counter) continue;
      const int lowest = lowest_user_[graph_.states[s].entry];
      result_.states[s] = lowest == kNoUser ? 0 : lowest;
    }
    return std::move(result_);
  }

 private:
  static constexpr int kNoUser = std::numeric_limits<int>::max();

  void set(size_t n, int stage) {
    result_.nodes[n] = stage;
    for (const ValueId output : graph_.nodes[n].outputs) stage_of_[output] = stage;
  }

  void assign_after_operands() {
    const std::vector<std::string> names = names_in_network(graph_);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_free_[n]) continue;
      const auto found = like_.nodes.find(names[n]);
      int stage = found == like_.nodes.end() ? kEveryStage : found->second;
      for (const ValueId input : graph_.nodes[n].inputs) stage = std::max(stage, stage_of_[input]);
      set(n, stage);
    }
  }

  void assign_before_users() {
    lowest_user_.assign(graph_.values.size(), kNoUser);
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (is_free_[n]) continue;
      const Node& node = graph_.nodes[n];
      if (result_.nodes[n] == kEveryStage) {
        int stage = kNoUser;
        for (const ValueId output : node.outputs) stage = std::min(stage, lowest_user_[output]);
        set(n, stage == kNoUser ? 0 : stage);
      }
      for (const ValueId input : node.inputs) lowest_user_[input] = std::min(lowest_user_[input], result_.nodes[n]);
    }
  }

  const Graph& graph_;
  const NamedStages& like_;
  const std::vector<bool> is_free_;  // per node
  std::vector<int> stage_of_;        // per value
  std::vector<int> lowest_user_;     // per value
  StageAssignment result_;
};

}  // namespace

NamedStages named_stages(const Graph& graph, const StageAssignment& assignment) {
  NamedStages result{.stages = assignment.stages};
  const std::vector<std::string> names = names_in_network(graph);
  for (size_t n = 0; n < names.size(); ++n) {
    if (!names[n].empty() && assignment.nodes[n] >= 0) result.nodes.emplace(names[n], assignment.nodes[n]);
  }
  for (size_t s = 0; s < graph.states.size(); ++s) {
    if (assignment.states[s] >= 0)
      result.states.emplace(graph.values[graph.states[s].entry].name, assignment.states[s]);
  }
  return result;
}

StageAssignment follow_stages(const Graph& graph, const NamedStages& like) { return StageFollower(graph, like).run(); }

}  // namespace partita
