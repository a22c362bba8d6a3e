#include "compiler/search/known_shardings.h"

#include <algorithm>

#include "ir/sharding/propagate.h"

namespace partita {

KnownShardings::KnownShardings(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan partial)
    : graph_(graph),
      rules_(rules),
      mesh_(mesh),
      partial_(std::move(partial)),
      users_(graph.users()),
      known_(graph.values.size()),
      state_(graph.values.size(), -1) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) known_[graph.inputs[i].value] = {.dims = partial_.inputs[i]};
  for (size_t s = 0; s < graph.states.size(); ++s) {
    state_[graph.states[s].entry] = static_cast<int>(s);
    if (partial_.states[s]) known_[graph.states[s].entry] = {.dims = *partial_.states[s]};
  }
}

void KnownShardings::enter(size_t n, const Cut& cut) {
  const Node& node = graph_.nodes[n];
  const Sharding passed = propagate_partial(rules_[n], cut, operands(n, cut));
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const auto placed = partial_.results.find(node.outputs[k]);
    known_[node.outputs[k]] = placed != partial_.results.end()
                                  ? Sharding{.dims = placed->second}
                                  : result_sharding(rules_[n], cut, passed, static_cast<int>(k));
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    auto& known = known_[node.inputs[i]];
    if (state_[node.inputs[i]] >= 0 && !known) known = {.dims = dims_from_factors(rules_[n], cut, rules_[n].inputs[i])};
  }
  partial_.cuts[n] = cut;
}

std::vector<Sharding> KnownShardings::operands(size_t n, const Cut& cut) const {
  std::vector<Sharding> shardings;
  const Node& node = graph_.nodes[n];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto& known = known_[node.inputs[i]];
    shardings.push_back(known ? *known : Sharding{.dims = dims_from_factors(rules_[n], cut, rules_[n].inputs[i])});
  }
  return shardings;
}

Sharding KnownShardings::required_sharding(size_t user, ValueId value) const {
  const Node& node = graph_.nodes[user];
  const auto at = std::ranges::find(node.inputs, value) - node.inputs.begin();
  return {.dims = dims_from_factors(rules_[user], *partial_.cuts[user], rules_[user].inputs[at])};
}

std::vector<Suggestion> KnownShardings::neighbours_of(size_t n) const {
  const Node& node = graph_.nodes[n];
  const ShardingRule& rule = rules_[n];
  std::vector<Suggestion> all;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (known_[node.inputs[i]]) all.push_back({&rule.inputs[i], known_[node.inputs[i]]->dims});
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    for (NodeId user : users_[node.outputs[k]]) {
      if (!is_decided(user)) continue;
      all.push_back({&rule.outputs[k], required_sharding(user, node.outputs[k]).dims});
    }
  }
  return all;
}

}  // namespace partita
