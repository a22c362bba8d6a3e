#include "planner/cluster/presets.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/plain_text.h"
#include "ir/sharding/mesh.h"
#include "planner/cluster/preset_texts.h"
#include "planner/cluster/software.h"
#include "planner/cluster/toml.h"
#include "runtime/pjrt/targets.h"

namespace partita {
namespace {

constexpr int64_t kNodeRanks = 8;

int64_t parse_nodes(std::string_view text, std::string_view nodes) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(nodes.data(), nodes.data() + nodes.size(), count);
  const int64_t most = kMaxMeshRanks / kNodeRanks;
  if (error != std::errc() || end != nodes.data() + nodes.size() || count < 1 || count > most) {
    throw InvalidArgument("[cluster] bad number of nodes in '{}', got '{}', expected 1 to {}", text, nodes, most);
  }
  return count;
}

/// The parts of "NAME:NODES@SOFTWARE". Throws InvalidArgument for a bad number of nodes.
struct ClusterName {
  explicit ClusterName(std::string_view text) {
    const size_t at = std::min(text.find('@'), text.size());
    const std::string_view machines = text.substr(0, at);
    const size_t colon = machines.find(':');
    preset = machines.substr(0, colon);
    if (colon != std::string_view::npos) nodes = parse_nodes(text, machines.substr(colon + 1));
    if (at < text.size()) software = text.substr(at + 1);
  }

  std::string_view preset;
  int64_t nodes = 1;
  std::optional<std::string_view> software{};  // none: the usual software of the preset
};

/// Returns ", did you mean 'a100-40:8' or 'a100-80:8'?" with all presets that begin with `name`, if it has 3 letters or
/// more and there are any, each followed by `rest`. Else returns what `did_you_mean` does.
std::string meant_presets(const std::string& name, std::string_view rest) {
  constexpr size_t kMinBeginning = 3;
  std::vector<std::string> meant;
  for (const std::string& preset : preset_names()) {
    if (name.size() >= kMinBeginning && preset.starts_with(name)) meant.push_back(fmt::format("'{}{}'", preset, rest));
  }
  return meant.empty() ? did_you_mean(name, preset_names())
                       : fmt::format(", did you mean {}?", fmt::join(meant, " or "));
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const EmbeddedText& preset : preset_texts()) names.emplace_back(preset.name);
  return names;
}

Cluster cluster_named(std::string_view text) {
  const auto [written, nodes, software] = ClusterName(text);
  const std::string name = lower_case(written);
  for (const EmbeddedText& preset : preset_texts()) {
    if (preset.name != name) continue;
    Cluster cluster = parse_cluster(preset.text, fmt::format("presets/{}.toml", name));
    cluster.name = fmt::format("{}:{}", name, nodes);
    cluster.levels.back().size = nodes;
    const std::string usual = cluster.software.name;
    if (software || usual != kOwnSoftware) use_software(cluster, software.value_or(usual));
    verify(cluster);
    return cluster;
  }
  const std::vector<std::string> names = preset_names();
  throw InvalidArgument(ErrorKind::key,
                        "[cluster] unknown preset, got '{}', expected one of {} with ':NODES', or a file{}", written,
                        fmt::join(names, " "), meant_presets(name, text.substr(written.size())));
}

std::string cluster_of_target(std::string_view text) {
  const ClusterName name(text);
  std::string cluster = pjrt::target_named(name.preset).name + std::string(text.substr(name.preset.size()));
  if (!name.software) cluster += fmt::format("@{}", kOwnSoftware);
  return cluster;
}

std::string with_more_nodes(std::string_view text, int64_t times) {
  const ClusterName name(text);
  return fmt::format("{}:{}{}", name.preset, name.nodes * times,
                     name.software ? fmt::format("@{}", *name.software) : "");
}

bool is_cluster_file(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".toml");
}

Cluster open_cluster(std::string_view text) {
  return is_cluster_file(text) ? read_cluster(std::string(text)) : cluster_named(text);
}

}  // namespace partita
