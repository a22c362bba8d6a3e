#include "compiler/plan/network_names.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/wildcard.h"
#include "ir/graph/layer_path.h"

namespace partita {
namespace {

std::optional<int64_t> count_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_plain = !text.empty() && text.size() < 16 && (text.size() == 1 || text[0] != '0');
  if (!is_plain || text[0] < '0' || text[0] > '9' || error != std::errc() || end != text.data() + text.size())
    return {};
  return value;
}

/// Returns the first and last number of "0..5"; "3" is a range of one number. None for other text, such as "5..0".
std::optional<std::pair<int64_t, int64_t>> range_of(std::string_view text) {
  const size_t dots = text.find("..");
  const auto first = count_of(text.substr(0, dots));
  const auto last = dots == text.npos ? first : count_of(text.substr(dots + 2));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair(*first, *last);
}

bool matches_part_of_name(std::string_view pattern, std::string_view part) {
  if (pattern.find("..") != pattern.npos) {
    const auto range = range_of(pattern);
    const auto number = count_of(part);
    if (range) return number && range->first <= *number && *number <= range->second;
  }
  return matches_wildcard(pattern, part);
}

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    parts.emplace_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// A name split into parts, while ranges are formed.
struct Parted {
  std::vector<std::string> parts;
  std::string text;
  bool gone = false;  // merged into the range of another line
};

/// Merges lines that differ only in part `at`, if their numbers are consecutive: the first line of a run of numbers
/// gets the range, its other lines are marked `gone`.
void join_ranges(std::vector<Parted>& lines, size_t at) {
  std::map<std::pair<std::vector<std::string>, std::string>, std::vector<size_t>> alike;
  for (size_t i = 0; i < lines.size(); ++i) {
    Parted& line = lines[i];
    if (line.gone || line.parts.size() <= at || !range_of(line.parts[at])) continue;
    std::vector<std::string> others = line.parts;
    others[at].clear();
    alike[{std::move(others), line.text}].push_back(i);
  }
  for (const auto& [key, members] : alike) {
    size_t first = members.front();
    for (size_t i : members) {
      if (i == first) continue;
      const auto begun = *range_of(lines[first].parts[at]), next = *range_of(lines[i].parts[at]);
      if (begun.second + 1 == next.first) {
        lines[first].parts[at] = fmt::format("{}..{}", begun.first, next.second);
        lines[i].gone = true;
      } else {
        first = i;
      }
    }
  }
}

}  // namespace

std::vector<std::string> network_names(const Graph& graph) {
  std::vector<std::string> names;
  std::map<std::pair<Phase, std::string>, int> counts;
  for (const Node& node : graph.nodes) {
    const bool is_copy = node.phase != Phase::forward && !node.recompute.empty();
    if (node.phase == Phase::update || is_copy) {
      names.emplace_back();
      continue;
    }
    std::string place = path_of_node(node);
    const int count = ++counts[{node.phase, place}];
    names.push_back(count == 1 ? std::move(place) : fmt::format("{}#{}", place, count));
  }
  return names;
}

bool matches_names(std::string_view pattern, std::string_view name) {
  while (true) {
    const size_t pattern_end = std::min(pattern.find('/'), pattern.size()),
                 name_end = std::min(name.find('/'), name.size());
    if (!matches_part_of_name(pattern.substr(0, pattern_end), name.substr(0, name_end))) return false;
    const bool ends = pattern_end == pattern.size();
    if (ends || name_end == name.size()) return ends && name_end == name.size();
    pattern.remove_prefix(pattern_end + 1);
    name.remove_prefix(name_end + 1);
  }
}

bool is_single_name(std::string_view pattern) {
  return pattern.find('*') == pattern.npos && pattern.find("..") == pattern.npos;
}

std::vector<NamedText> collapsed(const std::vector<NamedText>& lines) {
  std::vector<Parted> parted;
  size_t most = 0;
  for (const NamedText& line : lines) {
    parted.push_back({parts_of(line.names), line.text});
    most = std::max(most, parted.back().parts.size());
  }
  for (size_t at = most; at-- > 0;) join_ranges(parted, at);
  std::vector<NamedText> result;
  for (const Parted& line : parted) {
    if (!line.gone) result.push_back({fmt::format("{}", fmt::join(line.parts, "/")), line.text});
  }
  return result;
}

}  // namespace partita
