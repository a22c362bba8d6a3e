#include "plan/search/eliminate.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "base/error.h"

namespace partita {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// What some variables cost together, row-major in their order. Equal functions of different variables share a table.
struct CostFunction {
  std::vector<size_t> variables;
  std::shared_ptr<const std::vector<double>> table;
};

class Elimination {
 public:
  Elimination(const CostProblem& problem, double most_entries) : problem_(problem), most_entries_(most_entries) {
    factors_of_.resize(problem.variables.size());
    neighbours_.resize(problem.variables.size());
    for (size_t v = 0; v < problem.variables.size(); ++v) add({{v}, problem.variables[v].seconds});
    for (const CostEdge& edge : problem.edges) {
      // The table lives as long as the problem.
      add({{edge.first, edge.second}, std::shared_ptr<const std::vector<double>>(edge.table, &edge.table->seconds)});
    }
  }

  std::optional<SearchResult> run() {
    std::set<std::pair<double, size_t>> order;
    std::vector<double> costs(problem_.variables.size());
    for (size_t v = 0; v < costs.size(); ++v) order.emplace(costs[v] = fill_of(v), v);
    while (!order.empty()) {
      const size_t next = order.begin()->second;
      order.erase(order.begin());
      const std::vector<size_t> around(neighbours_[next].begin(), neighbours_[next].end());
      if (entries_of(around) * static_cast<double>(size_of(next)) > most_entries_) return std::nullopt;
      eliminate(next, around);
      std::set<size_t> changed(around.begin(), around.end());
      for (size_t v : around) changed.insert(neighbours_[v].begin(), neighbours_[v].end());
      for (size_t v : changed) {
        order.erase({costs[v], v});
        order.emplace(costs[v] = fill_of(v), v);
      }
    }
    SearchResult result;
    result.chosen.resize(problem_.variables.size());
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
      result.chosen[step->variable] = best(*step, result.chosen);
    result.seconds = problem_.seconds(result.chosen);
    result.lower_bound = result.seconds;
    return result;
  }

 private:
  struct Step {
    size_t variable;
    std::vector<CostFunction> factors;  // those that it was in
  };

  size_t size_of(size_t variable) const { return problem_.variables[variable].size(); }

  void add(CostFunction factor) {
    const size_t index = factors_.size();
    for (size_t v : factor.variables) {
      factors_of_[v].insert(index);
      for (size_t other : factor.variables) {
        if (other != v) neighbours_[v].insert(other);
      }
    }
    factors_.push_back(std::move(factor));
  }

  double entries_of(const std::vector<size_t>& variables) const {
    double entries = 1;
    for (size_t v : variables) entries *= static_cast<double>(size_of(v));
    return entries;
  }

  /// Entries of new pairs that eliminating a variable makes, then those of its table.
  double fill_of(size_t variable) const {
    const std::set<size_t>& around = neighbours_[variable];
    double fill = 0, entries = static_cast<double>(size_of(variable));
    for (auto a = around.begin(); a != around.end(); ++a) {
      entries *= static_cast<double>(size_of(*a));
      for (auto b = std::next(a); b != around.end(); ++b) {
        if (!neighbours_[*a].contains(*b)) fill += 1;
      }
    }
    return around.size() <= 1 ? entries * 1e-12 : fill + entries * 1e-9;
  }

  void eliminate(size_t variable, const std::vector<size_t>& around) {
    Step step{variable, {}};
    for (size_t index : factors_of_[variable]) {
      step.factors.push_back(factors_[index]);
      for (size_t v : factors_[index].variables) {
        if (v != variable) factors_of_[v].erase(index);
      }
    }
    factors_of_[variable].clear();
    for (size_t v : around) neighbours_[v].erase(variable);
    if (!around.empty()) add({around, minimum(step, around)});
    steps_.push_back(std::move(step));
  }

  /// The least over the variable of a step, for each choice of those around it. Done once for equal functions.
  std::shared_ptr<const std::vector<double>> minimum(const Step& step, const std::vector<size_t>& around) {
    std::string key;
    const auto append = [&](const void* bytes, size_t count) { key.append(static_cast<const char*>(bytes), count); };
    for (const CostFunction& factor : step.factors) {
      const void* table = factor.table.get();
      append(&table, sizeof table);
      for (size_t v : factor.variables) {
        const auto at = std::find(around.begin(), around.end(), v) - around.begin();
        append(&at, sizeof at);
      }
    }
    auto& known = known_[std::move(key)];
    if (!known) known = std::make_shared<const std::vector<double>>(compute(step, around));
    return known;
  }

  std::vector<double> compute(const Step& step, const std::vector<size_t>& around) const {
    const size_t own = size_of(step.variable);
    std::vector<std::vector<double>> rows;     // each factor with the variable as its last one
    std::vector<std::vector<size_t>> strides;  // of its rows, by what is around
    for (const CostFunction& factor : step.factors) {
      rows.push_back(last(factor, step.variable));
      std::vector<size_t>& stride = strides.emplace_back(around.size(), 0);
      size_t count = own;
      for (auto v = factor.variables.rbegin(); v != factor.variables.rend(); ++v) {
        if (*v == step.variable) continue;
        stride[static_cast<size_t>(std::find(around.begin(), around.end(), *v) - around.begin())] = count;
        count *= size_of(*v);
      }
    }
    std::vector<double> result(static_cast<size_t>(entries_of(around)));
    std::vector<size_t> index(around.size(), 0), offsets(rows.size(), 0);
    std::vector<double> sum(own);
    for (double& entry : result) {
      std::copy_n(rows[0].data() + offsets[0], own, sum.data());
      for (size_t f = 1; f < rows.size(); ++f) {
        const double* row = rows[f].data() + offsets[f];
        for (size_t i = 0; i < own; ++i) sum[i] += row[i];
      }
      double least = kInfinite;
      for (size_t i = 0; i < own; ++i) least = std::min(least, sum[i]);
      entry = least;
      for (size_t d = around.size(); d-- > 0;) {
        const bool carries = ++index[d] == size_of(around[d]);
        for (size_t f = 0; f < rows.size(); ++f) {
          offsets[f] += strides[f][d];
          if (carries) offsets[f] -= strides[f][d] * index[d];
        }
        if (!carries) break;
        index[d] = 0;
      }
    }
    return result;
  }

  /// The table with one variable behind the others, which keep their order.
  std::vector<double> last(const CostFunction& factor, size_t variable) const {
    size_t before = 1, after = 1, own = size_of(variable);
    bool found = false;
    for (size_t v : factor.variables) {
      if (v == variable) {
        found = true;
      } else {
        (found ? after : before) *= size_of(v);
      }
    }
    if (after == 1) return *factor.table;
    std::vector<double> moved(factor.table->size());
    for (size_t b = 0; b < before; ++b) {
      for (size_t i = 0; i < own; ++i) {
        for (size_t a = 0; a < after; ++a)
          moved[(b * after + a) * own + i] = (*factor.table)[(b * own + i) * after + a];
      }
    }
    return moved;
  }

  size_t best(const Step& step, const std::vector<size_t>& chosen) const {
    size_t best = 0;
    double least = kInfinite;
    for (size_t i = 0; i < size_of(step.variable); ++i) {
      double sum = 0;
      for (const CostFunction& factor : step.factors) {
        size_t at = 0;
        for (size_t v : factor.variables) at = at * size_of(v) + (v == step.variable ? i : chosen[v]);
        sum += (*factor.table)[at];
      }
      if (sum >= least) continue;
      least = sum;
      best = i;
    }
    return best;
  }

  const CostProblem& problem_;
  const double most_entries_;
  std::vector<CostFunction> factors_;
  std::vector<std::set<size_t>> factors_of_, neighbours_;  // per variable
  std::vector<Step> steps_;
  std::unordered_map<std::string, std::shared_ptr<const std::vector<double>>> known_;
};

}  // namespace

std::optional<SearchResult> eliminate(const CostProblem& problem, double most_entries) {
  return Elimination(problem, most_entries).run();
}

}  // namespace partita
