#include "partition/sections.h"

#include <algorithm>

#include "partition/collectives.h"
#include "partition/resharded_graph.h"
#include "sharding/micro.h"

namespace partita {
namespace {

bool runs_in_micro_batches(const LocalGraph& local, NodeId id) {
  const Node& node = local.graph.nodes[id];
  const auto has = [&](ValueId value) { return !micro_sharding(local.shardings[value], local.mesh).whole(); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), has) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), has);
}

/// Of a state that each micro-batch gathers, so that it does not lie there between them.
bool is_regather(const Node& node) {
  return is_collective(node) && node.attrs.as<CollectiveAttrs>().reason == kRegather;
}

}  // namespace

std::vector<SectionNodes> in_sections(const LocalGraph& local) {
  const std::vector<Section> sections = sections_of(local);
  const auto& nodes = local.graph.nodes;
  std::vector<std::vector<NodeId>> joined(local.graph.values.size());  // per value
  const auto follows = [&](const Node& node) {
    return joins_micro_batches(node) && local.graph.values[node.inputs[0]].producer >= 0;
  };
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (follows(nodes[n])) joined[nodes[n].inputs[0]].push_back(static_cast<NodeId>(n));
  }
  std::vector<SectionNodes> result;
  for (const Section section : kSections) {
    std::vector<NodeId>& order = result.emplace_back(SectionNodes{section, {}}).nodes;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (sections[n] != section || follows(nodes[n])) continue;
      order.push_back(static_cast<NodeId>(n));
      for (const ValueId output : nodes[n].outputs) {
        order.insert(order.end(), joined[output].begin(), joined[output].end());
      }
    }
  }
  return result;
}

std::vector<Section> sections_of(const LocalGraph& local) {
  const auto& nodes = local.graph.nodes;
  std::vector<Section> sections;
  for (const Node& node : nodes) {
    sections.push_back(node.phase == Phase::update ? Section::update : Section::once);
  }
  if (local.mesh.micro_axis() < 0) return sections;
  std::vector<bool> is_late(local.graph.values.size(), false), used_in_micro(local.graph.values.size(), false);
  for (size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    const bool needs_all =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return is_late[input]; });
    const bool micro = runs_in_micro_batches(local, static_cast<NodeId>(n));
    PARTITA_CHECK(!micro || !needs_all, "{} runs in a micro-batch and needs all of them", node.name);
    PARTITA_CHECK(!micro || joins_micro_batches(node) || node.phase != Phase::update, "update {} runs in a micro-batch",
                  node.name);
    if (micro) sections[n] = Section::micro;
    const bool late = needs_all || joins_micro_batches(node) || sections[n] == Section::update;
    for (ValueId output : node.outputs) is_late[output] = late;
    if (!micro && late && sections[n] == Section::once) sections[n] = Section::late;
  }
  for (size_t n = nodes.size(); n-- > 0;) {
    const Node& node = nodes[n];
    if (sections[n] == Section::once &&
        std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) { return used_in_micro[output]; })) {
      sections[n] = Section::late;
    }
    if (sections[n] == Section::once && is_regather(node)) sections[n] = Section::micro;
    if (sections[n] != Section::micro && sections[n] != Section::once) continue;
    for (ValueId input : node.inputs) used_in_micro[input] = true;
  }
  return sections;
}

}  // namespace partita
