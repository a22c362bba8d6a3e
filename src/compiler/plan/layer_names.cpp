#include "compiler/plan/layer_names.h"

#include <algorithm>
#include <charconv>

#include "base/wildcard.h"
#include "compiler/plan/network_names.h"

namespace partita {
namespace {

/// Whether a part of a path matches `pattern`: characters, with '*' for any, or a range of numbers such as "0..5",
/// which includes both ends.
bool matches_part(std::string_view pattern, std::string_view part) {
  if (const size_t dots = pattern.find(".."); dots != std::string_view::npos) {
    const auto first = whole_number(pattern.substr(0, dots)), last = whole_number(pattern.substr(dots + 2));
    const auto given = whole_number(part);
    if (first && last) return given && *first <= *given && *given <= *last;
  }
  return matches_wildcard(pattern, part);
}

/// Whether the parts of `pattern`, between slashes, match the first parts of `path` (`matches_part`: with `*` and
/// ranges of numbers).
bool matches_layer(std::string_view pattern, std::string_view path) {
  while (true) {
    const size_t pattern_end = std::min(pattern.find('/'), pattern.size());
    const size_t path_end = std::min(path.find('/'), path.size());
    if (!matches_part(pattern.substr(0, pattern_end), path.substr(0, path_end))) return false;
    if (pattern_end == pattern.size()) return true;
    if (path_end == path.size()) return false;
    pattern.remove_prefix(pattern_end + 1);
    path.remove_prefix(path_end + 1);
  }
}

/// Whether `layers` is `name`, or `name` followed by "#1": "net/add#1" for "net/add".
bool is_name(std::string_view layers, std::string_view name) {
  return layers == name || (layers.ends_with("#1") && layers.substr(0, layers.size() - 2) == name);
}

}  // namespace

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string path_of_node(const Node& node) { return node.scope.empty() ? node.op : node.scope + "/" + node.op; }

bool LayerNames::matches(std::string_view layers, size_t node) const {
  if (layers.find('#') == layers.npos) return matches_layer(layers, path_of_node(graph_.nodes[node]));
  if (!names_) names_ = network_names(graph_);
  return is_name(layers, (*names_)[node]);
}

std::vector<size_t> LayerNames::nodes_of(std::string_view layers, std::string_view where) const {
  std::vector<size_t> found;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (graph_.nodes[n].phase == Phase::forward && matches(layers, n)) found.push_back(n);
  }
  if (!found.empty()) return found;
  std::vector<std::string> scopes;
  for (const Node& node : graph_.nodes) {
    if (node.phase == Phase::forward && (scopes.empty() || scopes.back() != node.scope)) scopes.push_back(node.scope);
  }
  throw InvalidArgument(fmt::format("[{}] unknown layer, got '{}', expected one of {} layers{}", where, layers,
                                    scopes.size(), did_you_mean(layers, scopes)),
                        ErrorKind::key);
}

}  // namespace partita
