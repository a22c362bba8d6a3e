#include "compiler/search/cost_problem.h"

namespace partita {

double CostProblem::seconds(const std::vector<size_t>& chosen) const {
  double sum = 0;
  for (size_t v = 0; v < variables.size(); ++v) sum += (*variables[v].seconds)[chosen[v]];
  for (const CostEdge& edge : edges) sum += edge.table->at(chosen[edge.first], chosen[edge.second]);
  return sum;
}

double CostProblem::bytes(const std::vector<size_t>& chosen) const {
  double sum = 0;
  for (size_t v = 0; v < variables.size(); ++v) {
    if (variables[v].bytes) sum += (*variables[v].bytes)[chosen[v]];
  }
  return sum;
}

}  // namespace partita
