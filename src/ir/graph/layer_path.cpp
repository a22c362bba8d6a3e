#include "ir/graph/layer_path.h"

#include <algorithm>

#include "base/plain_text.h"
#include "base/wildcard.h"

namespace partita {
namespace {

/// Whether a part of a path matches `pattern`: characters, with '*' for any, or a range of numbers such as "0..5".
bool matches_part(std::string_view pattern, std::string_view part) {
  if (const size_t dots = pattern.find(".."); dots != std::string_view::npos) {
    const auto first = parse_number<int64_t>(pattern.substr(0, dots)),
               last = parse_number<int64_t>(pattern.substr(dots + 2));
    const auto given = parse_number<int64_t>(part);
    if (first && last) return given && *first <= *given && *given <= *last;
  }
  return matches_wildcard(pattern, part);
}

}  // namespace

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

std::string path_of_node(const Node& node) { return node.scope.empty() ? node.op : node.scope + "/" + node.op; }

}  // namespace partita
