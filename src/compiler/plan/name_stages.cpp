#include "compiler/plan/name_stages.h"

#include <algorithm>

#include "compiler/plan/network_names.h"

namespace partita {
namespace {

/// Paths as a tree. An inner part may also have nodes of its own.
struct PathTree {
  std::vector<std::pair<std::string, std::unique_ptr<PathTree>>> parts;  // in graph order
  std::vector<std::pair<std::string, int>> nodes;  // nodes whose path ends here, with their stages
  int lowest = std::numeric_limits<int>::max(), highest = -1;

  PathTree& part(std::string_view name) {
    for (size_t i = parts.size(); i-- > 0;) {  // usually the last
      if (parts[i].first == name) return *parts[i].second;
    }
    return *parts.emplace_back(name, std::make_unique<PathTree>()).second;
  }

  void add(std::string_view path, const std::string& name, int stage) {
    lowest = std::min(lowest, stage);
    highest = std::max(highest, stage);
    if (path.empty()) {
      nodes.emplace_back(name, stage);
      return;
    }
    const size_t slash = path.find('/');
    part(path.substr(0, slash)).add(slash == path.npos ? "" : path.substr(slash + 1), name, stage);
  }

  /// Appends to `stages`, by stage, `path` if all nodes under it are on one stage, else the names of its own nodes and
  /// what its parts append. `path` is that of this tree.
  void list(const std::string& path, std::vector<std::vector<NamedText>>& stages) const {
    if (lowest == highest && !path.empty()) {
      stages[static_cast<size_t>(lowest)].push_back({path, ""});
      return;
    }
    for (const auto& [name, stage] : nodes) {
      const bool is_first = name.find('#') == name.npos;
      stages[static_cast<size_t>(stage)].push_back({is_first ? name + "#1" : name, ""});
    }
    for (const auto& [name, tree] : parts) tree->list(path.empty() ? name : path + "/" + name, stages);
  }
};

}  // namespace

std::vector<std::vector<std::string>> name_stages(const Graph& graph, const StageAssignment& assignment) {
  const std::vector<std::string> names = network_names(graph);
  PathTree tree;
  for (size_t n = 0; n < names.size(); ++n) {
    if (graph.nodes[n].phase != Phase::forward || assignment.nodes[n] < 0) continue;
    tree.add(std::string_view(names[n]).substr(0, names[n].find('#')), names[n], assignment.nodes[n]);
  }
  std::vector<std::vector<NamedText>> stages(static_cast<size_t>(assignment.stages));
  tree.list("", stages);
  std::vector<std::vector<std::string>> result;
  for (const std::vector<NamedText>& stage : stages) {
    std::vector<std::string>& layers = result.emplace_back();
    for (NamedText& one : collapsed(stage)) layers.push_back(std::move(one.names));
  }
  return result;
}

}  // namespace partita
