#include "runtime/checkpoint/kinds.h"

#include <algorithm>

#include "base/error.h"

namespace partita {
namespace {

constexpr const char* kKinds = "partita.kinds";  // a line "KIND NAME" for each state that is not a parameter

}  // namespace

std::optional<StateKind> parse_state_kind(std::string_view name) {
  for (const StateKind kind : {StateKind::parameter, StateKind::statistic, StateKind::optimizer, StateKind::counter}) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

StateKinds kinds_of(const Graph& graph) {
  StateKinds kinds;
  for (const State& state : graph.states) kinds.emplace(graph.name_of(state), state.kind);
  return kinds;
}

void add_kinds(Metadata& metadata, const StateKinds& kinds) {
  std::string text;
  for (const auto& [name, kind] : kinds) {
    if (kind != StateKind::parameter) text += fmt::format("{} {}\n", name_of(kind), name);
  }
  if (!text.empty()) metadata[kKinds] = std::move(text);
}

std::optional<StateKinds> take_kinds(Metadata& metadata) {
  const auto found = metadata.find(kKinds);
  if (found == metadata.end()) return std::nullopt;
  const std::string text = std::move(found->second);
  metadata.erase(found);
  if (text.empty()) return std::nullopt;
  StateKinds kinds;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const size_t space = line.find(' ');
    const std::optional<StateKind> kind = parse_state_kind(line.substr(0, space));
    if (kind && space != std::string::npos) kinds.emplace(line.substr(space + 1), *kind);
    at = end + 1;
  }
  return kinds;
}

}  // namespace partita
