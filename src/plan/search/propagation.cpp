#include "plan/search/propagation.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <unordered_map>

#include "plan/search/candidate_cuts.h"
#include "sharding/propagate.h"
#include "sharding/reshard.h"
#include "sharding/strategy.h"

namespace partita {
namespace {

constexpr double kComputeBound = 2;  // points of the index space per element from which work outweighs traffic

class Propagation {
 public:
  Propagation(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan partial)
      : graph_(graph),
        rules_(rules),
        mesh_(mesh),
        partial_(std::move(partial)),
        resharder_(mesh),
        users_(graph.users()) {
    known_.resize(graph.values.size());
    state_.resize(graph.values.size(), -1);
    is_spread_.resize(graph.states.size(), false);
    for (size_t i = 0; i < graph.inputs.size(); ++i) known_[graph.inputs[i].value] = {.dims = partial_.inputs[i]};
    for (size_t s = 0; s < graph.states.size(); ++s) {
      state_[graph.states[s].entry] = static_cast<int>(s);
      if (partial_.states[s]) known_[graph.states[s].entry] = {.dims = *partial_.states[s]};
    }
  }

  PartialPlan run() {
    std::vector<size_t> annotated;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (partial_.cuts[n]) annotated.push_back(n);
    }
    for (size_t n : annotated) enter(n, *partial_.cuts[n]);
    for (size_t n : annotated) visit_neighbours(n);
    sweep();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {  // what no annotation reaches
      if (!is_forward(n) || partial_.cuts[n]) continue;
      decide(n, n);
      sweep();
    }
    return std::move(partial_);
  }

 private:
  using Queue = std::deque<std::pair<size_t, size_t>>;  // nodes, and the neighbours that reach them

  /// Lower is better, first by the first number.
  struct Score {
    double moved = 0, computed = 0, later = 0;
    int64_t unlike = 0;

    bool operator<(const Score& other) const {
      for (const auto& [a, b] :
           {std::pair(moved, other.moved), std::pair(computed, other.computed), std::pair(later, other.later)}) {
        if (std::abs(a - b) > 1e-6 * std::max(a, b)) return a < b;
      }
      return unlike < other.unlike;
    }
  };

  bool is_forward(size_t n) const { return graph_.nodes[n].phase == Phase::forward; }

  void sweep() {
    while (true) {
      Queue* queue = nullptr;
      for (Queue* one : {&compute_bound_, &partial_users_, &queue_}) queue = one->empty() ? queue : one;
      if (queue == nullptr) return;
      const auto [n, from] = queue->front();
      queue->pop_front();
      if (!partial_.cuts[n]) decide(n, from);
    }
  }

  void visit_neighbours(size_t n) {
    const Node& node = graph_.nodes[n];
    for (ValueId output : node.outputs) {
      const bool is_partial = !known_[output]->partial.empty();
      for (NodeId user : users_[output]) add(user, n, is_partial ? partial_users_ : queue_);
    }
    for (ValueId input : node.inputs) {
      if (state_[input] >= 0) {
        if (graph_.type(input).shape.empty()) continue;  // the counter of steps ties nothing together
        if (is_spread_[state_[input]]) continue;         // its users are queued already
        is_spread_[state_[input]] = true;
        for (NodeId user : users_[input]) add(user, n, is_compute_bound(user) ? compute_bound_ : queue_);
      } else if (const NodeId producer = graph_.values[input].producer; producer >= 0) {
        add(producer, n, is_compute_bound(producer) ? compute_bound_ : queue_);
      }
    }
  }

  void add(size_t n, size_t from, Queue& queue) const {
    if (is_forward(n) && !partial_.cuts[n]) queue.emplace_back(n, from);
  }

  bool is_compute_bound(size_t n) const {
    double elements = 0;
    for (const auto* values : {&graph_.nodes[n].inputs, &graph_.nodes[n].outputs}) {
      for (ValueId value : *values) elements += static_cast<double>(graph_.type(value).elements());
    }
    return iteration_space_size(n, Cut(rules_[n].factors.size())) > kComputeBound * elements;
  }

  /// Of the index space of a node, on one rank.
  double iteration_space_size(size_t n, const Cut& cut) const {
    double size = 1;
    for (size_t f = 0; f < cut.size(); ++f) {
      const Factor& factor = rules_[n].factors[f];
      if (factor.counts) size *= static_cast<double>(factor.size) / static_cast<double>(mesh_.ways(cut[f]));
    }
    return size;
  }

  void decide(size_t n, size_t from) {
    const auto [entry, fresh] = decided_.try_emplace(situation(n, from));
    if (fresh) entry->second = best_cut(n, from);
    enter(n, entry->second);
    visit_neighbours(n);
  }

  Cut best_cut(size_t n, size_t from) {
    std::optional<Cut> best;
    Score least;
    for (const Cut& cut : candidate_cuts(rules_[n], neighbours_of(n), mesh_, rules_.expandable(n))) {
      const Score score = score_of(n, cut, from);
      if (best && !(score < least)) continue;
      best = cut;
      least = score;
    }
    return *best;
  }

  /// All that the choice depends on, so that repeated layers are decided once.
  std::string situation(size_t n, size_t from) const {
    const Node& node = graph_.nodes[n];
    std::string text = node.op + node.attrs.print();
    const auto add_sharding = [&](ValueId value, const Sharding& sharding) {
      text += fmt::format(" {}", print(graph_.type(value), sharding, mesh_));
    };
    for (ValueId input : node.inputs) {
      const auto& known = known_[input];
      if (known) add_sharding(input, *known);
      const bool pinned = state_[input] >= 0 && partial_.states[state_[input]];
      text += fmt::format("{}{}{};", known ? "" : print(graph_.type(input)), state_[input] >= 0, pinned);
    }
    for (ValueId output : node.outputs) {
      text += " -> " + print(graph_.type(output));
      for (NodeId user : users_[output]) {
        if (is_forward(user) && partial_.cuts[user]) add_sharding(output, need_of(user, output));
      }
    }
    if (partial_.cuts[from]) text += print(strategy_of(rules_[from], *partial_.cuts[from], mesh_));
    return text;
  }

  void enter(size_t n, const Cut& cut) {
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
      if (state_[node.inputs[i]] >= 0 && !known)
        known = {.dims = dims_from_factors(rules_[n], cut, rules_[n].inputs[i])};
    }
    partial_.cuts[n] = cut;
  }

  /// How the operands lie: those that are not known yet as the cut needs them.
  std::vector<Sharding> operands(size_t n, const Cut& cut) const {
    std::vector<Sharding> shardings;
    const Node& node = graph_.nodes[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto& known = known_[node.inputs[i]];
      shardings.push_back(known ? *known : Sharding{.dims = dims_from_factors(rules_[n], cut, rules_[n].inputs[i])});
    }
    return shardings;
  }

  /// Bytes that move from one sharding to another and, for a gradient, back.
  double moved(ValueId value, const Sharding& from, const Sharding& to) {
    const Type& type = graph_.type(value);
    double bytes = resharder_.path(type, from, to).cost;
    const bool is_input = graph_.values[value].producer < 0 && state_[value] < 0;
    if (is_float(type.dtype) && !is_input) bytes += resharder_.path(type, {.dims = to.dims}, {.dims = from.dims}).cost;
    return bytes;
  }

  Score score_of(size_t n, const Cut& cut, size_t from) {
    const Node& node = graph_.nodes[n];
    const ShardingRule& rule = rules_[n];
    const bool compute_bound = is_compute_bound(n);
    Score score{.computed = iteration_space_size(n, cut)};
    const std::vector<Sharding> given = operands(n, cut);
    const Sharding passed = propagate_partial(rule, cut, given);
    bool from_operands = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId value = node.inputs[i];
      if (!known_[value]) continue;
      Sharding need{.dims = dims_from_factors(rule, cut, rule.inputs[i])};
      if (!given[i].partial.empty() && !passed.partial.empty()) {
        need.kind = given[i].kind;
        need.partial = given[i].partial;
      }
      const bool loose = state_[value] >= 0 && !partial_.states[state_[value]];
      (compute_bound && loose ? score.later : score.moved) += moved(value, given[i], need);
      from_operands = from_operands || state_[value] < 0;
    }
    double outwards = 0;
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const Sharding made = result_sharding(rule, cut, passed, static_cast<int>(k));
      bool reduced = false;
      for (NodeId user : users_[node.outputs[k]]) {
        if (!is_forward(user) || !partial_.cuts[user]) continue;
        outwards += moved(node.outputs[k], made, need_of(user, node.outputs[k]));
        reduced = true;
      }
      if (!made.partial.empty() && !reduced) {
        score.later += resharder_.path(graph_.type(node.outputs[k]), made, {.dims = made.dims}).cost;
      }
    }
    (compute_bound && from_operands ? score.later : score.moved) += outwards;
    score.unlike = unlike(n, cut, from);
    return score;
  }

  Sharding need_of(size_t user, ValueId value) const {
    const Node& node = graph_.nodes[user];
    const auto at = std::find(node.inputs.begin(), node.inputs.end(), value) - node.inputs.begin();
    return {.dims = dims_from_factors(rules_[user], *partial_.cuts[user], rules_[user].inputs[at])};
  }

  /// In how many positions the numbers of parts differ from those of a neighbour.
  int64_t unlike(size_t n, const Cut& cut, size_t from) const {
    if (from == n || !partial_.cuts[from]) return 0;
    const Strategy own = strategy_of(rules_[n], cut, mesh_);
    const Strategy other = strategy_of(rules_[from], *partial_.cuts[from], mesh_);
    int64_t count = 0;
    for (size_t i = 0; i < std::min(own.size(), other.size()); ++i) {
      for (size_t d = 0; d < std::min(own[i].size(), other[i].size()); ++d) count += own[i][d] != other[i][d];
    }
    return count;
  }

  /// The operands and results of a node whose shardings are known, or asked for by decided users.
  std::vector<Suggestion> neighbours_of(size_t n) const {
    const Node& node = graph_.nodes[n];
    const ShardingRule& rule = rules_[n];
    std::vector<Suggestion> all;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (known_[node.inputs[i]]) all.push_back({&rule.inputs[i], known_[node.inputs[i]]->dims});
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      for (NodeId user : users_[node.outputs[k]]) {
        if (!is_forward(user) || !partial_.cuts[user]) continue;
        all.push_back({&rule.outputs[k], need_of(user, node.outputs[k]).dims});
      }
    }
    return all;
  }

  const Graph& graph_;
  const Rules& rules_;
  const Mesh& mesh_;
  PartialPlan partial_;
  Resharder resharder_;
  std::vector<std::vector<NodeId>> users_;
  std::unordered_map<std::string, Cut> decided_;  // by situation
  std::vector<std::optional<Sharding>> known_;    // per value: as it is made or kept
  std::vector<int> state_;                        // per value: the state that it is at entry, or -1
  std::vector<bool> is_spread_;                   // per state: its users were queued
  /// What is decided first. `partial_users_`: users of partial values wait for what their own users say, who may want
  /// the value reduced. `compute_bound_`: such nodes, reached by their users, wait for their operands, which say more.
  Queue queue_, partial_users_, compute_bound_;
};

}  // namespace

Plan propagate(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan partial) {
  return complete_plan(graph, rules, mesh, "propagation", Propagation(graph, rules, mesh, std::move(partial)).run());
}

}  // namespace partita
