#include "compiler/plan/micro_cuts.h"

#include <algorithm>

#include "ir/sharding/propagate.h"

namespace partita {
namespace {

class MicroCutFinder {
 public:
  MicroCutFinder(const Graph& graph, const Rules& rules, int64_t count, Needed needed)
      : graph_(graph),
        rules_(rules),
        needed_(needed),
        mesh_(Mesh().with_micro_batches(count)),
        values_(graph.values.size()) {
    for (size_t v = 0; v < values_.size(); ++v) values_[v].over.dims.resize(graph.values[v].type.shape.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) cuts_.emplace_back(rules[n].factors.size());
    for (const State& state : graph.states) {
      values_[state.entry].repeats = state.kind != StateKind::parameter || !state.requires_grad;
    }
    stays_whole_.resize(graph.nodes.size(), false);
  }

  MicroCuts run() {
    for (const Input& input : graph_.inputs) {
      if (input.batch_dim >= 0) values_[input.value].over.dims[input.batch_dim] = {mesh_.micro_axis()};
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) pass_on(n);
    for (const Output& output : graph_.outputs) ask(output.value, whole_of(output.value));
    for (const State& state : graph_.states) {
      if (state.exit >= 0) ask(state.exit, whole_of(state.exit));
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) cut_for_users(n);
    MicroCuts result{.count = mesh_.micro_batches(), .before = find_before()};
    for (Value& value : values_) {
      result.partial.push_back(value.over.partial.empty() ? Reduce::none : value.over.kind);
      result.late.push_back(value.late);
      result.values.push_back(std::move(value.over.dims));
    }
    result.nodes = std::move(cuts_);
    return result;
  }

 private:
  using DimAxes = std::vector<Axes>;

  /// A value as it is cut or partial over micro-batches. A late value is complete only after all of them; an early one
  /// after a loop over all of them that runs before the main one.
  struct Value {
    Sharding over;
    bool late = false, early = false;
    bool repeats = true;  // depends only on inputs and on what training does not change, so loop may compute it
    bool is_asked = false, clashes = false;  // by users, for a value neither cut nor partial
    DimAxes asked;
  };

  DimAxes whole_of(ValueId value) const { return DimAxes(graph_.type(value).shape.size()); }

  /// Derives the cut of node `n` over micro-batches, and how its results are cut or partial over them, from its
  /// operands. A node that needs all micro-batches is not cut. Throws InvalidArgument if it is a node of one
  /// micro-batch and needs a result of all of them that `needed_` excludes.
  void pass_on(size_t n) {
    const Node& node = graph_.nodes[n];
    const ShardingRule& rule = rules_[n];
    std::vector<Suggestion> suggestions;
    std::vector<Sharding> given;
    bool repeats = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& value = values_[node.inputs[i]];
      repeats = repeats && value.repeats;
      if (is_cut(value.over.dims)) suggestions.push_back({&rule.inputs[i], value.over.dims});
      given.push_back(value.over);
    }
    // An expansion would need the whole factor, and thus all micro-batches.
    Cut cut = suggest_cut(rule, suggestions, mesh_, /*expandable=*/false);
    bool fits = node.phase != Phase::update;
    for (size_t i = 0; i < node.inputs.size() && fits; ++i) {
      fits = given[i].dims.empty() || !is_cut(given[i].dims) ||
             dims_from_factors(rule, cut, rule.inputs[i]) == given[i].dims;
    }
    for (size_t f = 0; f < cut.size() && fits; ++f) fits = cut[f].empty() || !has_window(rule, static_cast<int>(f));
    for (const ValueId output : node.outputs) values_[output].repeats = repeats;
    if (!fits) return need_all(n, /*joins_operands=*/true);
    cuts_[n] = std::move(cut);
    const Sharding passed = propagate_partial(rule, cuts_[n], given);
    const bool needs_all = std::ranges::any_of(node.inputs, [&](ValueId input) { return joins(n, values_[input]); }) ||
                           (passed.partial.empty() && has_partial_operand(n));
    if (needs_all && !is_cut(cuts_[n])) return need_all(n, has_partial_operand(n));
    for (size_t i = 0; i < node.inputs.size() && needs_all; ++i) {
      if (joins(n, values_[node.inputs[i]]) && !comes_early(values_[node.inputs[i]])) refuse(n, node.inputs[i]);
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      values_[node.outputs[k]].over = result_sharding(rule, cuts_[n], passed, static_cast<int>(k));
      values_[node.outputs[k]].repeats = repeats && !needs_all;
    }
  }

  bool has_partial_operand(size_t n) const {
    const std::vector<ValueId>& inputs = graph_.nodes[n].inputs;
    return std::ranges::any_of(inputs, [&](ValueId input) { return !values_[input].over.partial.empty(); });
  }

  /// Whether node `n` needs all micro-batches of an operand: the operand is late, or it is a sum and the node is cut.
  bool joins(size_t n, const Value& operand) const {
    if (!operand.over.partial.empty()) return is_cut(cuts_[n]);
    return operand.late && !is_cut(operand.over.dims);
  }

  /// Whether all micro-batches of a value can be complete before the main loop begins; always if `needed_` is
  /// `anything`.
  bool comes_early(const Value& value) const {
    if (needed_ == Needed::anything) return true;
    if (!value.over.partial.empty() || is_cut(value.over.dims)) return value.repeats;
    return !value.late || value.early;
  }

  /// Makes node `n` run after all micro-batches or, if its operands are early, before them. `joins_operands`: it sums
  /// or concatenates results of micro-batches, so it is never cut for its users.
  void need_all(size_t n, bool joins_operands) {
    const Node& node = graph_.nodes[n];
    // A concatenation of rows holds the whole batch. It may be early only if no trained parameter would be needed to
    // compute it.
    const bool stacks =
        std::ranges::any_of(node.inputs, [&](ValueId input) { return is_cut(values_[input].over.dims); });
    const auto comes_in_time = [&](ValueId input) {
      const Value& value = values_[input];
      return comes_early(value) && (!stacks || value.repeats || value.early || needed_ == Needed::anything);
    };
    const bool early = node.phase != Phase::update && std::ranges::all_of(node.inputs, comes_in_time);
    cuts_[n] = Cut(rules_[n].factors.size());
    stays_whole_[n] = joins_operands || !early;
    for (ValueId output : node.outputs) {
      values_[output].late = true;
      values_[output].early = early;
      values_[output].repeats = false;
    }
  }

  bool is_loop(size_t n) const {
    const std::vector<ValueId>& outputs = graph_.nodes[n].outputs;
    return is_cut(cuts_[n]) ||
           std::ranges::any_of(outputs, [&](ValueId output) { return !values_[output].over.partial.empty(); });
  }

  [[noreturn]] void refuse(size_t n, ValueId operand) const {
    // Follow the path back to the node that first needed all micro-batches.
    NodeId root = graph_.values[operand].producer;
    for (NodeId before = root; before >= 0;) {
      root = before;
      before = -1;
      for (ValueId input : graph_.nodes[root].inputs) {
        if (values_[input].late) before = graph_.values[input].producer;
      }
    }
    throw InvalidArgument(
        "[micro-batches] a node of one micro-batch needs a result of the whole batch, got {} with {} micro-batches, "
        "expected 1: it uses a result of {}, which needs all of them",
        described_with_line(graph_.nodes[n]), mesh_.micro_batches(),
        root < 0 ? "an input" : described_with_line(graph_.nodes[root]));
  }

  void ask(ValueId id, const DimAxes& dims) {
    Value& value = values_[id];
    value.clashes = value.clashes || (value.is_asked && value.asked != dims);
    value.asked = dims;
    value.is_asked = true;
  }

  /// Cuts a node that no operand cuts, if all users of all its results ask for the same cut. Otherwise the node stays
  /// as it is and its users take slices. Then asks for the node's operands as it needs them, so nodes are visited from
  /// the last to the first.
  void cut_for_users(size_t n) {
    const Node& node = graph_.nodes[n];
    const ShardingRule& rule = rules_[n];
    const bool is_free =
        !stays_whole_[n] && !is_cut(cuts_[n]) &&
        std::ranges::all_of(node.outputs, [&](ValueId output) { return values_[output].over.partial.empty(); });
    if (is_free) {
      std::vector<Suggestion> wanted;
      bool clashes = false;
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        const Value& value = values_[node.outputs[k]];
        clashes = clashes || value.clashes;
        if (value.is_asked && is_cut(value.asked)) wanted.push_back({&rule.outputs[k], value.asked});
      }
      Cut cut = suggest_cut(rule, wanted, mesh_, /*expandable=*/false);
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        const Value& value = values_[node.outputs[k]];
        const Sharding result = output_sharding(rule, cut, static_cast<int>(k));
        clashes = clashes || !result.partial.empty() || (value.is_asked && result.dims != value.asked);
      }
      if (!clashes) {
        cuts_[n] = std::move(cut);
        for (size_t k = 0; k < node.outputs.size(); ++k) {
          values_[node.outputs[k]].over = output_sharding(rule, cuts_[n], static_cast<int>(k));
        }
      }
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      ask(node.inputs[i],
          stays_whole_[n] ? whole_of(node.inputs[i]) : dims_from_factors(rule, cuts_[n], rule.inputs[i]));
    }
  }

  /// Returns for each node whether it helps to compute what a node of one micro-batch needs of all of them.
  std::vector<bool> find_before() const {
    std::vector<bool> found(graph_.nodes.size(), false), needed(values_.size(), false);
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      const bool loops = is_loop(n);
      const bool makes = any_marked(node.outputs, needed);
      found[n] = makes && (loops || values_[node.outputs[0]].late);
      for (const ValueId input : node.inputs) {
        if (found[n] || (loops && joins(n, values_[input]))) needed[input] = true;
      }
    }
    return found;
  }

  const Graph& graph_;
  const Rules& rules_;
  const Needed needed_;
  const Mesh mesh_;
  std::vector<Value> values_;
  std::vector<Cut> cuts_;          // per node
  std::vector<bool> stays_whole_;  // per node: users take slices of its results
};

}  // namespace

std::string described_with_line(const Node& node) {
  const std::string where = node.scope.empty() ? node.name : node.scope + "/" + node.name;
  return node.source.file.empty() ? where : fmt::format("{} ({}:{})", where, node.source.file, node.source.line);
}

MicroCuts find_micro_cuts(const Graph& graph, const Rules& rules, int64_t count, Needed needed) {
  return MicroCutFinder(graph, rules, count, needed).run();
}

}  // namespace partita
