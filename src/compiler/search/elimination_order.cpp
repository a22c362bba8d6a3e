#include "compiler/search/elimination_order.h"

#include <algorithm>

namespace partita {
namespace {

/// Key of all that the table of a step depends on.
std::string key_of_step(const EliminationStep& step) {
  std::string key;
  const auto append = [&](size_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); };
  for (const CostFunction& function : step.functions) {
    append(function.table);
    for (size_t v : function.variables) {
      append(static_cast<size_t>(std::ranges::find(step.around, v) - step.around.begin()));
    }
  }
  return key;
}

}  // namespace

EliminationOrder::EliminationOrder(const CostProblem& problem)
    : problem_(problem), functions_of_(problem.variables.size()), neighbours_(problem.variables.size()) {
  std::unordered_map<const void*, size_t> places;
  const auto place_of = [&](CostValues table) {
    const auto [entry, fresh] = places.try_emplace(table.get(), tables.size());
    if (fresh) tables.push_back(std::move(table));
    return entry->second;
  };
  for (size_t v = 0; v < problem.variables.size(); ++v) add({{v}, place_of(problem.variables[v].seconds)});
  for (const CostEdge& edge : problem.edges) {
    neighbours_[edge.first].insert(edge.second);
    neighbours_[edge.second].insert(edge.first);
    add({{edge.first, edge.second}, place_of(CostValues(edge.table, &edge.table->seconds))});
  }
}

void EliminationOrder::find(const EliminationLimits& limits) {
  std::set<std::pair<double, size_t>> open;
  std::vector<double> costs(problem_.variables.size());
  for (size_t v = 0; v < costs.size(); ++v) open.emplace(costs[v] = fill_of(v), v);
  while (!open.empty()) {
    const auto at = std::ranges::find_if(open, [&](const auto& one) {
      return one.second != limits.keep && neighbours_[one.second].size() <= limits.around;
    });
    if (at == open.end() || exceeds(at->second, limits)) break;
    const size_t next = at->second;
    open.erase(at);
    const std::set<size_t> around = neighbours_[next];
    eliminate(next);
    std::set<size_t> changed = around;
    for (size_t v : around) {
      neighbours_[v].erase(next);
      for (size_t other : around) {
        if (other != v) neighbours_[v].insert(other);
      }
      changed.insert(neighbours_[v].begin(), neighbours_[v].end());
    }
    for (size_t v : changed) {
      open.erase({costs[v], v});
      open.emplace(costs[v] = fill_of(v), v);
    }
  }
  for (const auto& [cost, v] : open) left.push_back(v);
  std::ranges::sort(left);
}

void EliminationOrder::add(CostFunction function) {
  for (size_t v : function.variables) functions_of_[v].insert(functions_.size());
  functions_.push_back(std::move(function));
}

/// Priority of a variable: pairs that its elimination would add, then the size of its table. The smallest is next.
double EliminationOrder::fill_of(size_t variable) const {
  const std::set<size_t>& around = neighbours_[variable];
  double fill = 0, entries = size_of(variable);
  for (auto a = around.begin(); a != around.end(); ++a) {
    entries *= size_of(*a);
    for (auto b = std::next(a); b != around.end(); ++b) fill += !neighbours_[*a].contains(*b);
  }
  return around.size() <= 1 ? entries * 1e-12 : fill + entries * 1e-9;
}

bool EliminationOrder::exceeds(size_t variable, const EliminationLimits& limits) const {
  double entries = 1;
  for (size_t v : neighbours_[variable]) entries *= size_of(v);
  return entries > limits.entries || work_ + entries * size_of(variable) > limits.work;
}

void EliminationOrder::eliminate(size_t variable) {
  EliminationStep step{.variable = variable};
  std::set<size_t> others;
  for (size_t index : functions_of_[variable]) {
    step.functions.push_back(functions_[index]);
    for (size_t v : functions_[index].variables) {
      if (v == variable) continue;
      functions_of_[v].erase(index);
      others.insert(v);
    }
  }
  step.around.assign(others.begin(), others.end());
  if (!others.empty()) {
    double entries = 1;
    for (size_t v : others) entries *= size_of(v);
    const auto [cached, fresh] = table_cache_.try_emplace(key_of_step(step), tables.size());
    if (fresh) {
      tables.push_back(nullptr);
      work_ += entries * size_of(variable);
    }
    step.result = cached->second;
    add({step.around, step.result});
  }
  steps.push_back(std::move(step));
}

}  // namespace partita
