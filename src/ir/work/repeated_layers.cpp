#include "ir/work/repeated_layers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace partita {
namespace {

constexpr size_t kKept = 3;        // copies in a folded graph: first, middle, last
constexpr size_t kDistances = 48;  // candidate periods: the most frequent distances of equal nodes

class RepeatFinder {
 public:
  RepeatFinder(const Graph& graph, const Rules& rules, size_t least)
      : graph_(graph), min_(least), users_(graph.users()), states_(graph.values.size(), -1) {
    for (size_t s = 0; s < graph.states.size(); ++s) states_[graph.states[s].entry] = static_cast<int>(s);
    for (const Output& output : graph.outputs) is_output_.insert(output.value);
    std::unordered_map<std::string, int> kinds;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      kinds_.push_back(kinds.try_emplace(kind_of(n, rules), static_cast<int>(kinds.size())).first->second);
    }
  }

  std::vector<RepeatedLayers> find() {
    search(0, graph_.nodes.size());
    std::ranges::sort(found_, [](const auto& a, const auto& b) { return a.begin < b.begin; });
    return found_;
  }

 private:
  /// Returns everything a node's cost depends on, except which values its operands are, as text.
  std::string kind_of(size_t n, const Rules& rules) const {
    const Node& node = graph_.nodes[n];
    std::string text = fmt::format("{} {} {} {}", node.op, print(rules[n]), node.stage, node.recompute.empty());
    if (node.annotation) text += " " + print(*node.annotation);
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (ValueId value : *values) text += " " + print(graph_.type(value));
    }
    return text;
  }

  /// Whether operand `one` of a node corresponds to operand `other` of the node `period` positions later. They do if
  /// they are the same value, results number i of two nodes that are also `period` apart, or states of one kind.
  bool is_alike(ValueId one, ValueId other, size_t period) const {
    if (one == other) return true;
    const ValueInfo &a = graph_.values[one], &b = graph_.values[other];
    if (a.producer >= 0 && b.producer >= 0)
      return b.producer - a.producer == static_cast<NodeId>(period) && a.output == b.output;
    if (states_[one] < 0 || states_[other] < 0) return false;
    return graph_.states[states_[one]].kind == graph_.states[states_[other]].kind;
  }

  bool matches(size_t n, size_t period) const {
    if (kinds_[n] != kinds_[n + period]) return false;
    const Node &a = graph_.nodes[n], &b = graph_.nodes[n + period];
    if (a.inputs.size() != b.inputs.size()) return false;
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      if (!is_alike(a.inputs[i], b.inputs[i], period)) return false;
    }
    return true;
  }

  /// Returns the candidate periods: the up to kDistances most frequent distances between a node of [begin, end) and the
  /// next of its kind there, the most frequent first, of equally frequent ones the longer.
  std::vector<size_t> periods(size_t begin, size_t end) const {
    std::unordered_map<int, size_t> last;
    std::unordered_map<size_t, size_t> counts;
    for (size_t n = begin; n < end; ++n) {
      const auto [entry, fresh] = last.try_emplace(kinds_[n], n);
      if (fresh) continue;
      ++counts[n - entry->second];
      entry->second = n;
    }
    std::vector<std::pair<size_t, size_t>> sorted;
    for (const auto& [distance, count] : counts) sorted.emplace_back(count, distance);
    std::sort(sorted.rbegin(), sorted.rend());
    if (sorted.size() > kDistances) sorted.resize(kDistances);
    std::vector<size_t> result;
    for (const auto& [count, distance] : sorted) result.push_back(distance);
    return result;
  }

  /// Whether nodes after the run and outputs of the graph use only values of its last two copies, which are kept.
  bool is_closed(const RepeatedLayers& run) const {
    for (size_t n = run.begin; n < run.end() - (kKept - 1) * run.period; ++n) {
      for (ValueId output : graph_.nodes[n].outputs) {
        if (is_output_.contains(output)) return false;
        for (NodeId user : users_[output]) {
          if (static_cast<size_t>(user) >= run.end()) return false;
        }
      }
    }
    return true;
  }

  void search(size_t begin, size_t end) {
    RepeatedLayers best;
    const auto folded_away = [&](const RepeatedLayers& run) { return (run.copies - min_) * run.period; };
    for (size_t period : periods(begin, end)) {
      for (size_t n = begin; n + period < end;) {
        size_t to = n;
        while (to + period < end && matches(to, period)) ++to;
        const RepeatedLayers run{n, period, (to - n) / period + 1};
        if (run.copies > min_ && (best.period == 0 || folded_away(run) > folded_away(best)) && is_closed(run)) {
          best = run;
        }
        n = to + 1;
      }
    }
    if (best.period == 0) return;
    found_.push_back(best);
    search(begin, best.begin);
    search(best.end(), end);
  }

  const Graph& graph_;
  const size_t min_;
  const std::vector<std::vector<NodeId>> users_;
  std::vector<int> states_;  // per value: its state, or -1
  std::unordered_set<ValueId> is_output_;
  std::vector<int> kinds_;  // per node
  std::vector<RepeatedLayers> found_;
};

/// Folds a graph. Values of copies that are left out are replaced by those of the last kept copies.
class Folding {
 public:
  Folding(const Graph& whole, const std::vector<RepeatedLayers>& runs) : whole_(whole), runs_(runs) {}

  FoldedGraph run() {
    for (size_t v = 0; v < whole_.values.size(); ++v) stand_in_.push_back(static_cast<ValueId>(v));
    FoldedGraph folded;
    size_t next = 0;
    for (const RepeatedLayers& run : runs_) {
      keep(folded, next, run.begin, 1);
      for (size_t copy = 0; copy < kKept; ++copy) {
        const size_t begin = run.begin + copy * run.period;
        keep(folded, begin, begin + run.period, copy == 1 ? run.copies - (kKept - 1) : 1);
        folded.units.back().whole_begin = copy + 1 == kKept ? run.end() - run.period : begin;
        folded.units.back().is_copy = true;
      }
      leave_out(run);
      next = run.end();
    }
    keep(folded, next, whole_.nodes.size(), 1);
    finish(folded);
    return folded;
  }

 private:
  void keep(FoldedGraph& folded, size_t begin, size_t end, size_t count) {
    if (begin == end) return;
    folded.units.push_back({kept_.size(), kept_.size() + end - begin, begin, count});
    for (size_t n = begin; n < end; ++n) kept_.push_back(n);
  }

  /// Replaces the values of the copies that are left out: the last kept copies provide them.
  void leave_out(const RepeatedLayers& run) {
    const size_t distance = (run.copies - kKept) * run.period;
    for (size_t n = run.begin + std::max(distance, kKept * run.period); n < run.end(); ++n) {
      const size_t in_place = n - distance;
      for (size_t k = 0; k < whole_.nodes[n].outputs.size(); ++k) {
        stand_in_[whole_.nodes[n].outputs[k]] = whole_.nodes[in_place].outputs[k];
      }
    }
  }

  /// Copies inputs, used states, kept nodes and outputs, with new numbers for their values.
  void finish(FoldedGraph& folded) {
    Graph& graph = folded.graph;
    graph.name = whole_.name;
    std::vector<ValueId> ids(whole_.values.size(), -1);
    const auto add = [&](ValueId value) {
      ids[value] = static_cast<ValueId>(graph.values.size());
      graph.values.push_back(whole_.values[value]);
      return ids[value];
    };
    for (Input input : whole_.inputs) {
      input.value = add(input.value);
      graph.inputs.push_back(input);
    }
    const std::vector<bool> is_used = used();
    for (State state : whole_.states) {
      if (!is_used[state.entry]) continue;
      state.entry = add(state.entry);
      graph.states.push_back(state);
    }
    for (size_t n : kept_) {
      Node node = whole_.nodes[n];
      for (ValueId& input : node.inputs) input = ids[stand_in_[input]];
      for (ValueId& output : node.outputs) {
        output = add(output);
        graph.values[output].producer = static_cast<NodeId>(graph.nodes.size());
      }
      graph.nodes.push_back(std::move(node));
    }
    for (State& state : graph.states) {
      if (state.exit >= 0) state.exit = ids[stand_in_[state.exit]];
    }
    for (Output output : whole_.outputs) {
      output.value = ids[stand_in_[output.value]];
      graph.outputs.push_back(std::move(output));
    }
  }

  std::vector<bool> used() const {
    std::vector<bool> is_used(whole_.values.size(), false);
    for (size_t n : kept_) {
      for (ValueId input : whole_.nodes[n].inputs) is_used[stand_in_[input]] = true;
    }
    for (const Output& output : whole_.outputs) is_used[stand_in_[output.value]] = true;
    return is_used;
  }

  const Graph& whole_;
  const std::vector<RepeatedLayers>& runs_;
  std::vector<ValueId> stand_in_;  // per value of the whole graph
  std::vector<size_t> kept_;       // nodes of the whole graph
};

}  // namespace

std::vector<RepeatedLayers> repeated_layers(const Graph& forward, const Rules& rules, size_t least) {
  return RepeatFinder(forward, rules, least).find();
}

FoldedGraph units_of(const Graph& forward, const Rules& rules) {
  FoldedGraph whole{.graph = forward, .units = {}};
  size_t next = 0;
  const auto add = [&](size_t end, bool is_copy = false) {
    if (next < end) whole.units.push_back({next, end, next, 1, is_copy});
    next = end;
  };
  for (const RepeatedLayers& run : repeated_layers(forward, rules, kKept)) {
    add(run.begin);
    while (next < run.end()) add(next + run.period, /*is_copy=*/true);
  }
  add(forward.nodes.size());
  return whole;
}

FoldedGraph fold_layers(const Graph& forward, const Rules& rules) {
  if (!forward.own_gradients.empty())
    return units_of(forward, rules);  // custom gradients refer to node numbers of this graph
  return Folding(forward, repeated_layers(forward, rules, kKept)).run();
}

}  // namespace partita
