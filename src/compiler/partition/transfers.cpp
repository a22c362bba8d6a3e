#include "compiler/partition/transfers.h"

#include <algorithm>

#include "compiler/partition/collectives.h"

namespace partita {
namespace {

/// Returns the first and the last section whose nodes read an input; `update` for both if none reads it.
std::pair<Section, Section> reading_sections(const std::vector<Section>& sections,
                                             const std::vector<std::vector<NodeId>>& users, ValueId value) {
  Section first = Section::update, last = Section::once;
  for (const NodeId user : users[value]) {
    first = std::min(first, sections[user]);
    last = std::max(last, sections[user]);
  }
  if (users[value].empty()) last = first;  // only an output of the stage reads it
  return {first, last};
}

}  // namespace

Section section_of_output(const LocalGraph& local, const std::vector<Section>& sections, size_t output) {
  const NodeId producer = local.graph.values[local.graph.outputs[output].value].producer;
  if (producer < 0) return Section::once;
  if (!joins_micro_batches(local.graph.nodes[producer])) return sections[producer];
  return sections[producer] == Section::prologue ? Section::joined : Section::late;
}

std::vector<Transfer> transfers_of(const std::vector<const LocalGraph*>& stages) {
  std::vector<Transfer> transfers;
  // Key: sender, receiver and name of the output.
  std::map<std::tuple<int, int, std::string>, std::pair<size_t, Section>> sent;
  std::vector<std::vector<Section>> sections;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const LocalGraph& local = *stages[stage];
    sections.push_back(sections_of(local));
    for (size_t k = 0; k < local.graph.outputs.size(); ++k) {
      const Output& output = local.graph.outputs[k];
      const Section section = section_of_output(local, sections.back(), k);
      for (const int to : output.to_stages) {
        sent[{static_cast<int>(stage), to, output.name}] = {k, section};
      }
    }
  }
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const LocalGraph& local = *stages[stage];
    const std::vector<std::vector<NodeId>> users = local.graph.users();
    for (size_t i = 0; i < local.graph.inputs.size(); ++i) {
      const Input& input = local.graph.inputs[i];
      if (input.from_stage < 0) continue;
      const std::string name = "sent." + local.graph.values[input.value].name;
      const auto found = sent.find({input.from_stage, static_cast<int>(stage), name});
      PARTITA_CHECK(found != sent.end(), "stage {} receives %{}, which stage {} does not send", stage, name,
                    input.from_stage);
      PARTITA_CHECK(!input.once || found->second.second < Section::late,
                    "stage {} needs %{} before the first micro-batch, and stage {} makes it {}", stage, name,
                    input.from_stage, name_of(found->second.second));
      const auto [first, last] = reading_sections(sections[stage], users, input.value);
      transfers.push_back({.from_stage = input.from_stage,
                           .to_stage = static_cast<int>(stage),
                           .output = found->second.first,
                           .input = i,
                           .sent = found->second.second,
                           .first = first,
                           .last = last,
                           .verdict = input.verdict});
    }
  }
  return transfers;
}

}  // namespace partita
