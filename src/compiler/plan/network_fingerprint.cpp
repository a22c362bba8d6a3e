#include "compiler/plan/network_fingerprint.h"

#include <algorithm>
#include <map>

#include "base/listed.h"
#include "compiler/plan/network_names.h"
#include "ir/graph/layer_path.h"

namespace partita {
namespace {

constexpr size_t kShownDifferences = 3;

/// Adds text to an FNV-1a digest, followed by a separator.
void add_to_digest(uint64_t& digest, std::string_view text) {
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  digest = (digest ^ 0xff) * 0x100000001b3u;
}

/// Returns the sizes of inputs and states, "[2,3]", by name with '%' before it, and those of all results of each
/// forward node, "[2,3][4]", by name in the network.
std::map<std::string, std::string> sizes_by_name(const Graph& graph) {
  std::map<std::string, std::string> sizes;
  for (const Input& input : graph.inputs)
    sizes["%" + graph.values[input.value].name] = print(graph.type(input.value).shape);
  for (const State& state : graph.states)
    sizes["%" + graph.values[state.entry].name] = print(graph.type(state.entry).shape);
  const std::vector<std::string> names = network_names(graph);
  for (size_t n = 0; n < names.size(); ++n) {
    std::string all;
    for (ValueId output : graph.nodes[n].outputs) all += print(graph.type(output).shape);
    if (graph.nodes[n].phase == Phase::forward && !names[n].empty()) sizes[names[n]] = all;
  }
  return sizes;
}

}  // namespace

NetworkFingerprint fingerprint_of_network(const Graph& forward) {
  NetworkFingerprint result{.digest = 0xcbf29ce484222325u};
  const auto add_value = [&](ValueId value) {
    add_to_digest(result.digest, fmt::format("{} {}", value, print(forward.type(value).shape)));
  };
  for (const Input& input : forward.inputs) {
    add_to_digest(result.digest, forward.values[input.value].name);
    add_value(input.value);
  }
  for (const State& state : forward.states) {
    add_to_digest(result.digest, forward.values[state.entry].name);
    add_value(state.entry);
    if (state.kind == StateKind::parameter) result.parameters += forward.type(state.entry).elements();
  }
  for (const Node& node : forward.nodes) {
    if (node.phase != Phase::forward) continue;
    ++result.nodes;
    add_to_digest(result.digest, path_of_node(node));
    for (ValueId input : node.inputs) add_value(input);
    for (ValueId output : node.outputs) add_value(output);
  }
  return result;
}

std::string network_difference(const Graph& got, const Graph& expected) {
  const auto own = sizes_by_name(got), planned = sizes_by_name(expected);
  std::vector<std::string> missing, added, resized;
  for (const auto& [name, sizes] : planned) {
    const auto found = own.find(name);
    if (found == own.end())
      missing.push_back(name);
    else if (found->second != sizes)
      resized.push_back(fmt::format("{} {} instead of {}", name, found->second, sizes));
  }
  for (const auto& [name, sizes] : own) {
    if (!planned.contains(name)) added.push_back(name);
  }
  std::string text;
  const auto say = [&](std::string_view what, const std::vector<std::string>& names) {
    if (!names.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", what, first_of(names, kShownDifferences));
  };
  say("without", missing);
  say("with also", added);
  say("with", resized);
  return text;
}

}  // namespace partita
