#include "compiler/search/propagation.h"

#include <deque>
#include <unordered_map>

#include "compiler/search/cut_score.h"
#include "ir/sharding/strategy.h"

namespace partita {
namespace {

class Propagation {
 public:
  explicit Propagation(KnownShardings known)
      : known_(std::move(known)), scorer_(known_), is_spread_(known_.graph().states.size(), false) {}

  PartialPlan run() {
    std::vector<size_t> annotated;
    for (size_t n = 0; n < known_.graph().nodes.size(); ++n) {
      if (known_.partial().cuts[n]) annotated.push_back(n);
    }
    for (size_t n : annotated) known_.enter(n, *known_.partial().cuts[n]);
    for (size_t n : annotated) visit_neighbours(n);
    sweep();
    for (size_t n = 0; n < known_.graph().nodes.size(); ++n) {  // nodes that no annotation reaches
      if (!known_.is_forward(n) || known_.is_decided(n)) continue;
      decide(n, n);
      sweep();
    }
    return known_.take_partial();
  }

 private:
  using Queue = std::deque<std::pair<size_t, size_t>>;  // nodes, and the neighbours that reach them

  void sweep() {
    while (true) {
      Queue* queue = nullptr;
      for (Queue* one : {&compute_bound_, &partial_users_, &queue_}) queue = one->empty() ? queue : one;
      if (queue == nullptr) return;
      const auto [n, from] = queue->front();
      queue->pop_front();
      if (!known_.partial().cuts[n]) decide(n, from);
    }
  }

  void visit_neighbours(size_t n) {
    const Node& node = known_.graph().nodes[n];
    for (ValueId output : node.outputs) {
      const bool is_partial = !known_.sharding(output)->partial.empty();
      for (NodeId user : known_.users(output)) add(user, n, is_partial ? partial_users_ : queue_);
    }
    for (ValueId input : node.inputs) {
      if (known_.state(input) >= 0) {
        if (known_.graph().type(input).shape.empty()) continue;  // the step counter ties no nodes together
        if (is_spread_[known_.state(input)]) continue;           // its users are queued already
        is_spread_[known_.state(input)] = true;
        for (NodeId user : known_.users(input)) add(user, n, is_compute_bound(known_, user) ? compute_bound_ : queue_);
      } else if (const NodeId producer = known_.graph().values[input].producer; producer >= 0) {
        add(producer, n, is_compute_bound(known_, producer) ? compute_bound_ : queue_);
      }
    }
  }

  void add(size_t n, size_t from, Queue& queue) const {
    if (known_.is_forward(n) && !known_.is_decided(n)) queue.emplace_back(n, from);
  }

  void decide(size_t n, size_t from) {
    const auto [entry, fresh] = decided_.try_emplace(situation(n, from));
    if (fresh) entry->second = best_cut(n, from);
    known_.enter(n, entry->second);
    visit_neighbours(n);
  }

  Cut best_cut(size_t n, size_t from) {
    std::optional<Cut> best;
    CutScore least;
    const Rules& rules = known_.rules();
    for (const Cut& cut : candidate_cuts(rules[n], known_.neighbours_of(n), known_.mesh(), rules.expandable(n))) {
      const CutScore score = scorer_.score(n, cut, from);
      if (best && !(score < least)) continue;
      best = cut;
      least = score;
    }
    return *best;
  }

  /// Returns a key of all that the choice of a cut for node `n`, reached from neighbour `from`, depends on, so that
  /// repeated layers are decided once.
  std::string situation(size_t n, size_t from) const {
    const Node& node = known_.graph().nodes[n];
    std::string text = node.op + node.attrs.print();
    const auto add_sharding = [&](ValueId value, const Sharding& sharding) {
      text += fmt::format(" {}", print(known_.graph().type(value), sharding, known_.mesh()));
    };
    for (ValueId input : node.inputs) {
      const auto& known = known_.sharding(input);
      if (known) add_sharding(input, *known);
      text += fmt::format("{}{}{};", known ? "" : print(known_.graph().type(input)), known_.state(input) >= 0,
                          known_.is_pinned(input));
    }
    for (ValueId output : node.outputs) {
      text += " -> " + print(known_.graph().type(output));
      for (NodeId user : known_.users(output)) {
        if (known_.is_decided(user)) add_sharding(output, known_.required_sharding(user, output));
      }
    }
    if (known_.partial().cuts[from])
      text += print(strategy_of(known_.rules()[from], *known_.partial().cuts[from], known_.mesh()));
    return text;
  }

  KnownShardings known_;
  CutScorer scorer_;
  std::unordered_map<std::string, Cut> decided_;  // by situation
  std::vector<bool> is_spread_;                   // per state: whether its users were queued
  /// Queues in the order in which they are served. `partial_users_`: users of partial values wait for their own users,
  /// which may need the value reduced. `compute_bound_`: compute-bound nodes reached by their users wait for their
  /// operands, which determine more.
  Queue queue_, partial_users_, compute_bound_;
};

}  // namespace

Plan propagate(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan partial) {
  return complete_plan(graph, rules, mesh, "propagation", Propagation({graph, rules, mesh, std::move(partial)}).run());
}

}  // namespace partita
