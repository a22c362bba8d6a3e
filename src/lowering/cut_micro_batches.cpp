#include "lowering/cut_micro_batches.h"

#include <algorithm>

#include "sharding/propagate.h"

namespace partita {
namespace {

std::string described(const Node& node) {
  const std::string where = node.scope.empty() ? node.name : node.scope + "/" + node.name;
  return node.source.file.empty() ? where : fmt::format("{} ({}:{})", where, node.source.file, node.source.line);
}

/// The divisors of a batch, as many as a message has room for.
std::string counts_for(int64_t batch) {
  constexpr size_t kShown = 12;
  std::vector<int64_t> divisors;
  for (int64_t count = 1; count <= batch && divisors.size() < kShown; ++count) {
    if (batch % count == 0) divisors.push_back(count);
  }
  return fmt::format("one of {}{}", fmt::join(divisors, ", "), divisors.back() == batch ? "" : ", ...");
}

class MicroCutter {
 public:
  MicroCutter(Plan plan, const Graph& graph, const Rules& rules, int64_t count)
      : plan_(std::move(plan)), graph_(graph), rules_(rules), count_(count), values_(graph.values.size()) {
    plan_.mesh = plan_.mesh.with_micro_batches(count);
    micro_ = {plan_.mesh.micro_axis()};
    for (size_t v = 0; v < values_.size(); ++v) values_[v].over.dims.resize(graph.values[v].type.shape.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) cuts_.emplace_back(rules[n].factors.size());
    is_late_.resize(graph.nodes.size(), false);
  }

  Plan run() {
    cut_over_micro_batches();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) merge(n);
    for (auto& [value, dims] : plan_.results) {
      const DimAxes &micro = values_[value].over.dims, over_ranks = dims;
      put_in_front(dims, micro);
      if (illegal(graph_.type(value), dims, plan_.mesh).empty()) continue;
      for (size_t d = 0; d < dims.size(); ++d) dims[d] = micro[d].empty() ? over_ranks[d] : micro[d];
    }
    return std::move(plan_);
  }

  /// Throws unless micro-batches cut `plan` where they are to; this object has its ranks alone.
  void expect(const Plan& plan) {
    cut_over_micro_batches();
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const ValueId value = graph_.inputs[i].value;
      expect_dims("%" + graph_.values[value].name, plan.inputs[i], values_[value].over.dims);
    }
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const ValueId value = graph_.states[s].entry;
      expect_dims("%" + graph_.values[value].name, plan.inputs[graph_.inputs.size() + s], whole_of(value));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) expect_dims(graph_.nodes[n].name, plan.cuts[n], cuts_[n]);
    for (const auto& [value, dims] : plan.results) {
      expect_dims("%" + graph_.values[value].name, dims, values_[value].over.dims);
    }
    for (const auto& [name, dims] : plan.outputs) expect_dims("output " + name, dims, DimAxes(dims.size()));
  }

 private:
  using DimAxes = std::vector<Axes>;

  void cut_over_micro_batches() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) cut_input(i);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) pass_on(n);
    for (const Output& output : graph_.outputs) ask(output.value, whole_of(output.value));
    for (const State& state : graph_.states) {
      if (state.exit >= 0) ask(state.exit, whole_of(state.exit));
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) cut_for_users(n);
  }

  /// Of dimensions, or of the factors of a node.
  void expect_dims(const std::string& what, const DimAxes& given, const DimAxes& micro) const {
    const auto print_axes = [&](const DimAxes& dims) {
      std::string text;
      for (const Axes& axes : dims) text += fmt::format("{}{{{}}}", text.empty() ? "" : " ", plan_.mesh.print(axes));
      return text;
    };
    for (size_t d = 0; d < given.size(); ++d) {
      const auto found = std::find(given[d].begin(), given[d].end(), micro_[0]);
      if (micro[d].empty() ? found == given[d].end() : found == given[d].begin() && !given[d].empty()) continue;
      throw InvalidArgument(
          fmt::format("[plan] micro-batches do not cut {} as its operands and users need it, got "
                      "'{}', expected '{}' and axes of ranks behind it",
                      what, print_axes(given), print_axes(micro)));
    }
  }

  /// What is known of a value: how it is cut, or partial, over micro-batches; or that it is there when all are done.
  struct Value {
    Sharding over;
    bool late = false;
    bool is_asked = false, clashes = false;  // by users, for a value that is neither
    DimAxes asked;
  };

  DimAxes whole_of(ValueId value) const { return DimAxes(graph_.type(value).shape.size()); }

  void cut_input(size_t i) {
    const auto [value, batch_dim] = std::pair(graph_.inputs[i].value, graph_.inputs[i].batch_dim);
    if (batch_dim < 0) return;
    const int64_t batch = graph_.type(value).shape[batch_dim];
    require_whole_micro_batches(batch, count_);
    const int64_t ranks = plan_.mesh.ways(plan_.inputs[i][batch_dim]);
    if (batch / count_ < ranks) {
      throw InvalidArgument(
          fmt::format("[micro-batches] a micro-batch has fewer rows than ranks that share it, got {} micro-batches of "
                      "batch {} on {} "
                      "ranks, expected at most {}",
                      count_, batch, ranks, std::max<int64_t>(1, batch / ranks)));
    }
    values_[value].over.dims[batch_dim] = micro_;
    put_in_front(plan_.inputs[i], values_[value].over.dims);
  }

  static void put_in_front(DimAxes& dims, const DimAxes& micro) {
    for (size_t d = 0; d < dims.size(); ++d) dims[d].insert(dims[d].begin(), micro[d].begin(), micro[d].end());
  }

  /// From the operands of a node to its cut and its results.
  void pass_on(size_t n) {
    const Node& node = graph_.nodes[n];
    const ShardingRule& rule = rules_[n];
    ValueId late = -1, partial = -1;
    std::vector<Suggestion> suggestions;
    std::vector<Sharding> given;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& value = values_[node.inputs[i]];
      if (value.late) late = node.inputs[i];
      if (!value.over.partial.empty()) partial = node.inputs[i];
      if (is_cut(value.over.dims)) suggestions.push_back({&rule.inputs[i], value.over.dims});
      given.push_back(value.over);
    }
    // What an expansion needs of the whole factor it would need of all micro-batches.
    Cut cut = suggest_cut(rule, suggestions, plan_.mesh, /*expandable=*/false);
    bool fits = node.phase != Phase::update;
    for (size_t i = 0; i < node.inputs.size() && fits; ++i) {
      fits = given[i].dims.empty() || !is_cut(given[i].dims) ||
             dims_from_factors(rule, cut, rule.inputs[i]) == given[i].dims;
    }
    for (size_t f = 0; f < cut.size() && fits; ++f) fits = cut[f].empty() || !has_window(rule, static_cast<int>(f));
    if (!fits) return mark_late(n);
    const Sharding passed = propagate_partial(rule, cut, given);
    if (partial >= 0 && passed.partial.empty()) late = partial;
    if (late >= 0 && is_cut(cut)) refuse(n, late);
    if (late >= 0) return mark_late(n);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      values_[node.outputs[k]].over = result_sharding(rule, cut, passed, static_cast<int>(k));
    }
    cuts_[n] = std::move(cut);
  }

  void mark_late(size_t n) {
    is_late_[n] = true;
    for (ValueId output : graph_.nodes[n].outputs) values_[output].late = true;
  }

  [[noreturn]] void refuse(size_t n, ValueId operand) const {
    // Back along the path to the node that first needed all micro-batches.
    NodeId root = graph_.values[operand].producer;
    for (NodeId before = root; before >= 0;) {
      root = before;
      before = -1;
      for (ValueId input : graph_.nodes[root].inputs) {
        if (values_[input].late) before = graph_.values[input].producer;
      }
    }
    throw InvalidArgument(fmt::format(
        "[micro-batches] a node of one micro-batch needs a result of the whole batch, got {} with {} micro-batches, "
        "expected 1: it uses what {} makes of all of them",
        described(graph_.nodes[n]), count_, root < 0 ? "an input" : described(graph_.nodes[root])));
  }

  void ask(ValueId id, const DimAxes& dims) {
    Value& value = values_[id];
    value.clashes = value.clashes || (value.is_asked && value.asked != dims);
    value.asked = dims;
    value.is_asked = true;
  }

  /// A node that no operand cuts is cut where all users of all its results need it so; else they take slices.
  void cut_for_users(size_t n) {
    const Node& node = graph_.nodes[n];
    const ShardingRule& rule = rules_[n];
    const bool is_free = !is_late_[n] && !is_cut(cuts_[n]) &&
                         std::all_of(node.outputs.begin(), node.outputs.end(),
                                     [&](ValueId output) { return values_[output].over.partial.empty(); });
    if (is_free) {
      std::vector<Suggestion> wanted;
      bool clashes = false;
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        const Value& value = values_[node.outputs[k]];
        clashes = clashes || value.clashes;
        if (value.is_asked && is_cut(value.asked)) wanted.push_back({&rule.outputs[k], value.asked});
      }
      Cut cut = suggest_cut(rule, wanted, plan_.mesh, /*expandable=*/false);
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
      ask(node.inputs[i], is_late_[n] ? whole_of(node.inputs[i]) : dims_from_factors(rule, cuts_[n], rule.inputs[i]));
    }
  }

  /// Both cuts of a node in one. Where a factor has too few elements for both (the groups of a norm, of which each
  /// micro-batch has its own), the ranks cut the next factor of its dimension, or else nothing there.
  void merge(size_t n) {
    if (!is_cut(cuts_[n])) return;
    const Cut over_ranks = plan_.cuts[n];
    put_in_front(plan_.cuts[n], cuts_[n]);
    const std::string reason = illegal(rules_[n], plan_.cuts[n], plan_.mesh);
    if (reason.empty()) return;
    for (Cut& cut : alternatives(n, over_ranks)) {
      if (!illegal(rules_[n], cut, plan_.mesh).empty()) continue;
      plan_.cuts[n] = std::move(cut);
      return;
    }
    throw InvalidArgument(
        fmt::format("[micro-batches] a node cannot be cut so, got {} with {} micro-batches, expected "
                    "fewer: {}",
                    described(graph_.nodes[n]), count_, reason));
  }

  std::vector<Cut> alternatives(size_t n, const Cut& over_ranks) const {
    const ShardingRule& rule = rules_[n];
    std::vector<Cut> cuts;
    Cut alone = over_ranks;  // micro-batches alone where they cut
    for (size_t f = 0; f < alone.size(); ++f) {
      if (!cuts_[n][f].empty()) alone[f] = cuts_[n][f];
    }
    for (const auto* tensors : {&rule.inputs, &rule.outputs}) {
      for (const TensorMap& tensor : *tensors) {
        for (const DimMap& dim : tensor) {
          if (dim.factors.size() < 2 || cuts_[n][dim.factors[0]].empty()) continue;
          Axes axes = cuts_[n][dim.factors[0]];
          for (const int factor : dim.factors) {
            axes.insert(axes.end(), over_ranks[factor].begin(), over_ranks[factor].end());
          }
          const auto spread = factors_from_dims(rule, dim, axes, plan_.mesh);
          if (!spread) continue;
          Cut& cut = cuts.emplace_back(alone);
          for (const auto& [factor, own] : *spread) cut[factor] = own;
        }
      }
    }
    cuts.push_back(std::move(alone));
    return cuts;
  }

  Plan plan_;
  const Graph& graph_;
  const Rules& rules_;
  const int64_t count_;
  Axes micro_;
  std::vector<Value> values_;
  std::vector<Cut> cuts_;  // per node, over micro-batches alone
  std::vector<bool> is_late_;
};

}  // namespace

void require_whole_micro_batches(int64_t batch, int64_t count) {
  if (batch % count == 0) return;
  throw InvalidArgument(
      fmt::format("[micro-batches] the global batch does not divide, got {} micro-batches of batch {}, expected {}",
                  count, batch, counts_for(batch)));
}

void verify_micro_batches(const Plan& plan, const Graph& graph, const Rules& rules) {
  const int axis = plan.mesh.micro_axis();
  if (axis < 0) return;
  Plan ranks{.mesh = plan.mesh, .inputs = plan.inputs};
  for (std::vector<Axes>& dims : ranks.inputs) {
    for (Axes& axes : dims) std::erase(axes, axis);
  }
  MicroCutter(std::move(ranks), graph, rules, plan.mesh.micro_batches()).expect(plan);
}

Plan cut_micro_batches(Plan plan, const Graph& graph, const Rules& rules, int64_t count) {
  if (count == 1) return plan;
  return MicroCutter(std::move(plan), graph, rules, count).run();
}

}  // namespace partita
