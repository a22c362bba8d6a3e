#include "planner/explain/layer_table.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "planner/explain/common_scope.h"
#include "planner/pricing/layers/quantities.h"

namespace partita {
namespace {

constexpr size_t kShownOps = 3;

/// Splits "net/h/12" into "net/h/" and 12; none if there is no slash or the last part is not a number.
std::optional<std::pair<std::string, int64_t>> numbered_scope(const std::string& scope) {
  const size_t slash = scope.rfind('/');
  if (slash == scope.npos) return std::nullopt;
  int64_t number = 0;
  const char* last = scope.data() + scope.size();
  const auto [end, error] = std::from_chars(scope.data() + slash + 1, last, number);
  if (error != std::errc() || end != last) return std::nullopt;
  return std::pair(scope.substr(0, slash + 1), number);
}

/// Returns the first two parts of a path, "net/layer1", or all of a shorter one.
std::string_view layer_of(const std::string& scope) {
  const size_t first = scope.find('/');
  return std::string_view(scope).substr(0, first == scope.npos ? first : scope.find('/', first + 1));
}

/// Returns the name of a range of nodes: the layer of its first node, "net/layer1", or, if that is directly in the top
/// scope, the scope with the different ops of the range, "net: embedding, add", of more than three the first three and
/// "..". Without a scope, only the ops.
std::string name_of_nodes(const Graph& graph, size_t begin, size_t end) {
  const std::string scope(layer_of(graph.nodes[begin].scope));
  if (scope.find('/') != scope.npos) return scope;
  std::vector<std::string> ops;
  for (size_t n = begin; n < end; ++n) {
    if (std::ranges::find(ops, graph.nodes[n].op) == ops.end()) ops.push_back(graph.nodes[n].op);
  }
  const bool has_more = ops.size() > kShownOps;
  ops.resize(std::min(ops.size(), kShownOps));
  return fmt::format("{}{}{}{}", scope, scope.empty() ? "" : ": ", fmt::join(ops, ", "), has_more ? ", .." : "");
}

/// Units of the folded graph and the rows that they belong to. Units without copies are split into layers.
class LayerGroups {
 public:
  explicit LayerGroups(const FoldedGraph& folded) : folded_(folded) {
    for (const FoldedUnit& unit : folded.units) {
      if (unit.is_copy)
        add_copy(unit);
      else
        add_layers(unit);
      whole_units.resize(units.size(), static_cast<size_t>(&unit - folded.units.data()));
    }
  }

  std::vector<FoldedUnit> units;
  std::vector<size_t> whole_units;  // per unit: its unit of the folded graph
  std::vector<size_t> row_of_unit;
  std::vector<LayerRow> rows;

 private:
  void add(const FoldedUnit& unit) {
    units.push_back(unit);
    row_of_unit.push_back(rows.size() - 1);
    rows.back().end = unit.end;
  }

  void add_layers(const FoldedUnit& unit) {
    const std::vector<Node>& nodes = folded_.graph.nodes;
    for (size_t begin = unit.begin; begin < unit.end;) {
      size_t end = begin + 1;
      while (end < unit.end && layer_of(nodes[end].scope) == layer_of(nodes[begin].scope)) ++end;
      rows.push_back(
          {.name = name_of_nodes(folded_.graph, begin, end), .begin = begin, .strategy = {}, .communication = {}});
      add({.begin = begin, .end = end, .whole_begin = unit.whole_begin + begin - unit.begin});
      begin = end;
      last_copy_.reset();
    }
  }

  bool goes_on(const FoldedUnit& unit) const {
    if (!last_copy_ || last_copy_->end - last_copy_->begin != unit.end - unit.begin) return false;
    for (size_t i = 0; i < unit.end - unit.begin; ++i) {
      const std::vector<Node>& nodes = folded_.graph.nodes;
      if (nodes[unit.begin + i].op != nodes[last_copy_->begin + i].op) return false;
    }
    return true;
  }

  void add_copy(const FoldedUnit& unit) {
    const std::string scope = common_scope(folded_.graph, unit.begin, unit.end);
    const auto number = numbered_scope(scope);
    const auto copies = static_cast<int64_t>(unit.count);
    if (!goes_on(unit)) {
      rows.push_back({.name = scope.empty() ? "(layer)" : scope,
                      .begin = unit.begin,
                      .copies = 0,
                      .strategy = {},
                      .communication = {}});
      first_number_ = number;
    }
    add(unit);
    rows.back().copies += copies;
    if (first_number_ && number && first_number_->first == number->first && rows.back().copies > 1) {
      rows.back().name =
          fmt::format("{}{}..{}", number->first, first_number_->second, first_number_->second + rows.back().copies - 1);
    }
    last_copy_ = unit;
  }

  const FoldedGraph& folded_;
  std::optional<FoldedUnit> last_copy_;
  std::optional<std::pair<std::string, int64_t>> first_number_;
};

/// Returns the name of the dimension of a node's result that a factor cuts: "batch" for the first, "channels", "height"
/// and "width" for images, else "columns" for the last and "sequence"; "sums" if the result does not have the factor.
std::string part_of_result(const TensorMap& output, int factor) {
  const size_t rank = output.size();
  for (size_t d = 0; d < rank; ++d) {
    const auto& factors = output[d].factors;
    if (std::ranges::find(factors, factor) == factors.end()) continue;
    if (d == 0) return "batch";
    if (rank == 4) return d == 1 ? "channels" : d == 2 ? "height" : "width";
    return d + 1 == rank ? "columns" : "sequence";
  }
  return "sums";
}

/// Adds the costs of units to their rows, averaged over the copies of a row; `counts` is the number of copies of each
/// unit. Does nothing if there are no copies. Throws LoweringErrors.
void add_costs(NetworkCosts& costs, const Configuration& configuration, const Precision& precision,
               const LayerGroups& groups, const std::vector<double>& counts, std::vector<LayerRow>& rows) {
  if (std::ranges::all_of(counts, [](double count) { return count == 0; })) return;
  const LayerCosts own = costs.lowering().costs_of_units(configuration, groups.units);
  const auto shards = static_cast<double>(configuration.data * configuration.context);
  const auto ways = [&](int64_t level) { return configuration.zero >= level ? shards : 1.0; };
  for (size_t u = 0; u < groups.units.size(); ++u) {
    LayerRow& row = rows[groups.row_of_unit[u]];
    if (counts[u] == 0) continue;
    const UnitCosts& unit = own.units[u];
    const double part = counts[u] / static_cast<double>(row.copies);
    row.forward += part * unit.forward.compute;
    row.backward += part * unit.backward.compute;
    row.flops += part * (unit.forward.flops + unit.backward.flops);
    for (const SectionCosts* section : {&unit.forward, &unit.backward}) {
      for (const auto& [kind, seconds] : section->communication) row.communication[kind] += part * seconds;
    }
    row.states += part * (unit.parameters_of_rank(ways(3)) * precision.parameter() +
                          unit.parameters_of_rank(ways(2)) * precision.gradient +
                          unit.parameters_of_rank(ways(1)) * precision.shared_master() +
                          unit.optimizer_of_rank(ways(1)) * precision.state);
    row.kept += part * unit.kept;
  }
}

}  // namespace

std::string LayerRow::title() const {
  if (!recomputed) return name;
  if (*recomputed == Recompute::none) return name + ", not recomputed";
  return fmt::format("{}, recompute {}", name, name_of(*recomputed));
}

double LayerRow::communicates() const {
  double seconds = 0;
  for (const auto& [kind, one] : communication) seconds += one;
  return seconds;
}

std::string strategy_of(const Plan& plan, const Rules& rules, size_t begin, size_t end) {
  std::map<std::string, std::set<std::string>> parts;
  for (size_t n = begin; n < end; ++n) {
    for (size_t f = 0; f < plan.cuts[n].size(); ++f) {
      for (int axis : plan.cuts[n][f]) {
        std::string name = plan.mesh.axes()[static_cast<size_t>(axis)].name;
        name = name.substr(0, name.find('.'));
        parts[name].insert(part_of_result(rules[n].outputs[0], static_cast<int>(f)));
      }
    }
  }
  std::string text;
  for (const auto& [name, size] : plan.mesh.named()) {
    const auto found = parts.find(name);
    if (found == parts.end()) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name, fmt::join(found->second, ", "));
  }
  return text.empty() ? "whole" : text;
}

std::vector<LayerRow> layer_table(NetworkCosts& costs, const Configuration& configuration,
                                  const std::vector<StageLayers>& stages, const Plan& plan, const Rules& rules,
                                  const Precision& precision) {
  LayerGroups groups(costs.folded());
  for (LayerRow& row : groups.rows) row.strategy = strategy_of(plan, rules, row.begin, row.end);
  if (!configuration.recompute.is_counted()) {
    std::vector<double> counts;
    for (const FoldedUnit& unit : groups.units) counts.push_back(static_cast<double>(unit.count));
    add_costs(costs, configuration, precision, groups, counts, groups.rows);
    return std::move(groups.rows);
  }
  std::vector<LayerRow> all;
  for (const Recompute policy : kPoliciesInOrder) {
    std::vector<double> counts;
    std::vector<LayerRow> rows = groups.rows;
    for (LayerRow& row : rows) row.copies = 0;
    for (size_t u = 0; u < groups.units.size(); ++u) {
      size_t count = 0;
      for (const StageLayers& stage : stages) count += stage[groups.whole_units[u]].of(policy);
      counts.push_back(static_cast<double>(count));
      int64_t& copies = rows[groups.row_of_unit[u]].copies;
      copies = groups.units[u].is_copy ? copies + static_cast<int64_t>(count) : static_cast<int64_t>(count);
    }
    Configuration own = configuration;
    own.recompute = policy;
    add_costs(costs, own, precision, groups, counts, rows);
    for (size_t r = 0; r < rows.size(); ++r) {
      if (policy != Recompute::none || rows[r].copies < groups.rows[r].copies) rows[r].recomputed = policy;
    }
    std::ranges::copy_if(rows, std::back_inserter(all), [](const LayerRow& row) { return row.copies > 0; });
  }
  std::ranges::stable_sort(all, [](const LayerRow& a, const LayerRow& b) { return a.begin < b.begin; });
  return all;
}

std::string print(const std::vector<LayerRow>& rows, const Configuration& configuration, int64_t batch) {
  double all = 0;
  size_t widest = 6;
  for (const LayerRow& row : rows) {
    all += static_cast<double>(row.copies) * row.seconds();
    widest = std::max(widest, row.title().size());
  }
  std::string text = fmt::format("{:<{}} {:>7} {:>12} {:>12} {:>12} {:>7} {:>11} {:>11}  {}\n", "layers", widest,
                                 "count", "forward", "backward", "communicate", "share", "states", "kept", "cut");
  for (const LayerRow& row : rows) {
    text +=
        fmt::format("{:<{}} {:>7} {:>12} {:>12} {:>12} {:>5.1f} % {:>11} {:>11}  {}\n", row.title(), widest, row.copies,
                    print_seconds(row.forward), print_seconds(row.backward), print_seconds(row.communicates()),
                    all > 0 ? 100 * static_cast<double>(row.copies) * row.seconds() / all : 0, print_memory(row.states),
                    print_memory(row.kept), row.strategy);
  }
  const int64_t rounds = micro_batches(configuration, batch);
  return text + fmt::format("(of one layer on one rank, in one micro-batch of {} row{}; {} micro-batch{} in a step)\n",
                            configuration.micro_batch, configuration.micro_batch == 1 ? "" : "s", rounds,
                            rounds == 1 ? "" : "es");
}

}  // namespace partita
