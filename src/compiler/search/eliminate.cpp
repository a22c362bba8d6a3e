#include "compiler/search/eliminate.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "compiler/search/elimination_order.h"

namespace partita {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

class Elimination::Solver {
 public:
  Solver(const CostProblem& problem, const EliminationLimits& limits) : problem_(problem), order_(problem) {
    order_.find(limits);
    tables_ = std::move(order_.tables);
    if (limits.all && !order_.left.empty()) return;
    for (const EliminationStep& step : order_.steps) {
      if (step.around.empty() || tables_[step.result]) continue;
      tables_[step.result] = std::make_shared<const std::vector<double>>(compute(step, step.around));
    }
  }

  const std::vector<size_t>& left() const { return order_.left; }

  CostProblem core() const {
    CostProblem core;
    std::vector<size_t> place(problem_.variables.size());
    std::set<size_t> used;
    for (size_t v : order_.left) {
      place[v] = core.variables.size();
      std::vector<double> seconds(size_of(v), 0);
      for (size_t index : order_.functions_of(v)) {
        const CostFunction& function = order_.functions()[index];
        used.insert(index);
        if (function.variables.size() > 1) continue;
        for (size_t a = 0; a < seconds.size(); ++a) seconds[a] += table_of(function)[a];
      }
      core.variables.push_back({std::make_shared<const std::vector<double>>(std::move(seconds)), nullptr});
    }
    for (size_t index : used) {
      const CostFunction& function = order_.functions()[index];
      if (function.variables.size() == 1) continue;
      PARTITA_CHECK(function.variables.size() == 2, "a core of {} variables at once", function.variables.size());
      const size_t first = function.variables[0], second = function.variables[1];
      core.edges.push_back(
          {place[first], place[second],
           std::make_shared<const CostTable>(CostTable{size_of(first), size_of(second), table_of(function)})});
    }
    return core;
  }

  double apart() const {
    double sum = 0;
    for (const EliminationStep& step : order_.steps) {
      if (!step.around.empty()) continue;
      std::vector<double> costs(size_of(step.variable), 0);
      for (const CostFunction& function : step.functions) {
        for (size_t a = 0; a < costs.size(); ++a) costs[a] += table_of(function)[a];
      }
      sum += *std::ranges::min_element(costs);
    }
    return sum;
  }

  std::vector<size_t> complete(const std::vector<size_t>& chosen) const {
    std::vector<size_t> all(problem_.variables.size());
    for (size_t i = 0; i < chosen.size(); ++i) all[order_.left[i]] = chosen[i];
    for (auto step = order_.steps.rbegin(); step != order_.steps.rend(); ++step) {
      all[step->variable] = best(*step, all);
    }
    return all;
  }

 private:
  size_t size_of(size_t variable) const { return problem_.variables[variable].size(); }
  const std::vector<double>& table_of(const CostFunction& function) const { return *tables_[function.table]; }

  struct Ordered {
    std::vector<size_t> variables;
    CostValues table;
  };
  /// Tables of a step's functions, transposed for the innermost loops. These run over the last of the neighbours, which
  /// varies fastest in the result.
  struct Operands {
    std::vector<std::vector<double>> alone;          // tables without the last neighbour; the variable varies fastest
    std::vector<std::vector<size_t>> alone_strides;  // per neighbour
    std::vector<std::vector<double>> with_last;      // tables with it; it varies fastest, then the variable
    std::vector<std::vector<size_t>> with_strides;
  };

  Operands operands_of(const EliminationStep& step, const std::vector<size_t>& around) const {
    Operands operands;
    for (const CostFunction& function : step.functions) {
      const bool has_last =
          !around.empty() && std::ranges::find(function.variables, around.back()) != function.variables.end();
      Ordered moved = to_back({function.variables, tables_[function.table]}, step.variable);
      if (has_last) moved = to_back(moved, around.back());
      std::vector<size_t> stride(around.size(), 0);
      size_t count = 1;
      for (auto v = moved.variables.rbegin(); v != moved.variables.rend(); ++v) {
        const auto at = std::ranges::find(around, *v);
        if (at != around.end()) stride[static_cast<size_t>(at - around.begin())] = count;
        count *= size_of(*v);
      }
      (has_last ? operands.with_last : operands.alone).push_back(*moved.table);
      (has_last ? operands.with_strides : operands.alone_strides).push_back(std::move(stride));
    }
    return operands;
  }

  std::vector<double> compute(const EliminationStep& step, const std::vector<size_t>& around) const {
    const size_t own = size_of(step.variable), columns = around.empty() ? 1 : size_of(around.back());
    const Operands operands = operands_of(step, around);
    size_t entries = 1;
    for (size_t v : around) entries *= size_of(v);
    std::vector<double> result(entries, kInfinite);
    std::vector<size_t> index(around.size(), 0);
    std::vector<double> sum(own), pairs;
    const auto offset = [&](const std::vector<size_t>& strides) {
      size_t at = 0;
      for (size_t d = 0; d + 1 < around.size(); ++d) at += strides[d] * index[d];
      return at;
    };
    std::vector<size_t> last_offsets;
    for (size_t row = 0; row < result.size(); row += columns) {
      std::ranges::fill(sum, 0);
      for (size_t f = 0; f < operands.alone.size(); ++f) {
        const double* from = operands.alone[f].data() + offset(operands.alone_strides[f]);
        for (size_t i = 0; i < own; ++i) sum[i] += from[i];
      }
      std::vector<size_t> offsets;
      for (const std::vector<size_t>& strides : operands.with_strides) offsets.push_back(offset(strides));
      if (row == 0 || offsets != last_offsets) {
        add_up(operands.with_last, offsets, own * columns, pairs);
        last_offsets = offsets;
      }
      min_sums(sum, pairs, columns, result.data() + row);
      for (size_t d = around.size() - 1; d-- > 0;) {
        if (++index[d] < size_of(around[d])) break;
        index[d] = 0;
      }
    }
    return result;
  }

  static void add_up(const std::vector<std::vector<double>>& tables, const std::vector<size_t>& offsets, size_t count,
                     std::vector<double>& sums) {
    sums.assign(tables[0].begin() + static_cast<int64_t>(offsets[0]),
                tables[0].begin() + static_cast<int64_t>(offsets[0] + count));
    for (size_t f = 1; f < tables.size(); ++f) {
      const double* from = tables[f].data() + offsets[f];
      for (size_t i = 0; i < count; ++i) sums[i] += from[i];
    }
  }

  /// Sets result[b] to the minimum of sum[i] + pairs[i][b]. Takes the smallest sums first and stops once none can help.
  static void min_sums(const std::vector<double>& sum, const std::vector<double>& pairs, size_t columns,
                       double* result) {
    std::vector<size_t> order(sum.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](size_t a, size_t b) { return sum[a] < sum[b]; });
    size_t done = 0;
    double most = kInfinite;  // maximum of the results so far; pairs cost nothing or more
    for (size_t i : order) {
      const double add = sum[i];
      if (add >= most) break;
      const double* from = pairs.data() + i * columns;
#pragma omp simd
      for (size_t b = 0; b < columns; ++b) {
        const double value = add + from[b];
        result[b] = value < result[b] ? value : result[b];
      }
      if (++done % 4 == 0) most = *std::max_element(result, result + columns);
    }
  }

  /// Returns the function with one of its variables last; the others keep their order.
  Ordered to_back(const Ordered& function, size_t variable) const {
    size_t before = 1, after = 1, own = size_of(variable);
    Ordered moved;
    bool found = false;
    for (size_t v : function.variables) {
      if (v == variable) {
        found = true;
        continue;
      }
      moved.variables.push_back(v);
      (found ? after : before) *= size_of(v);
    }
    moved.variables.push_back(variable);
    moved.table = function.table;
    if (after == 1) return moved;
    std::vector<double> table(function.table->size());
    for (size_t b = 0; b < before; ++b) {
      for (size_t i = 0; i < own; ++i) {
        for (size_t a = 0; a < after; ++a)
          table[(b * after + a) * own + i] = (*function.table)[(b * own + i) * after + a];
      }
    }
    moved.table = std::make_shared<const std::vector<double>>(std::move(table));
    return moved;
  }

  size_t best(const EliminationStep& step, const std::vector<size_t>& chosen) const {
    size_t best = 0;
    double least = kInfinite;
    for (size_t i = 0; i < size_of(step.variable); ++i) {
      double sum = 0;
      for (const CostFunction& function : step.functions) {
        size_t at = 0;
        for (size_t v : function.variables) at = at * size_of(v) + (v == step.variable ? i : chosen[v]);
        sum += table_of(function)[at];
      }
      if (sum >= least) continue;
      least = sum;
      best = i;
    }
    return best;
  }

  const CostProblem& problem_;
  EliminationOrder order_;
  std::vector<CostValues> tables_;
};

Elimination::Elimination(const CostProblem& problem, const EliminationLimits& limits)
    : solver_(std::make_unique<Solver>(problem, limits)) {}
Elimination::~Elimination() = default;
const std::vector<size_t>& Elimination::left() const { return solver_->left(); }
CostProblem Elimination::core() const { return solver_->core(); }
double Elimination::apart() const { return solver_->apart(); }
std::vector<size_t> Elimination::complete(const std::vector<size_t>& chosen) const { return solver_->complete(chosen); }

std::optional<SearchResult> eliminate(const CostProblem& problem, EliminationLimits limits) {
  limits.all = true;
  const Elimination elimination(problem, limits);
  if (!elimination.left().empty()) return std::nullopt;
  SearchResult result{.chosen = elimination.complete({})};
  result.seconds = result.lower_bound = problem.seconds(result.chosen);
  return result;
}

}  // namespace partita
