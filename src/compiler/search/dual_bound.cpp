#include "compiler/search/dual_bound.h"

#include <cmath>
#include <limits>

namespace partita {
namespace {

constexpr double kRises = 1e-5;   // relative rise of the bound per sweep below which sweeps stop
constexpr double kForbids = 1e3;  // cost of what is forbidden, as a multiple of all finite costs

/// One direction of an edge, as seen from one of its variables.
struct Direction {
  size_t edge;
  bool from_first;  // whether that is the first of the edge's variables
};

class MessagePassing {
 public:
  explicit MessagePassing(const CostProblem& problem) : problem_(problem), directions_(problem.variables.size()) {
    double total = 1;
    const auto most = [](const std::vector<double>& costs) {
      double most = 0;
      for (double cost : costs) most = std::isfinite(cost) ? std::max(most, cost) : most;
      return most;
    };
    for (const CostVariable& variable : problem.variables) total += most(*variable.seconds);
    for (const CostEdge& edge : problem.edges) total += most(edge.table->seconds);
    forbidden_ = kForbids * total;
    for (size_t e = 0; e < problem.edges.size(); ++e) {
      const CostEdge& edge = problem.edges[e];
      directions_[edge.first].push_back({e, true});
      directions_[edge.second].push_back({e, false});
      to_first_.emplace_back(edge.table->rows, 0);
      to_second_.emplace_back(edge.table->columns, 0);
    }
  }

  DualBound run(int sweeps) {
    DualBound bound;
    bound.lower_bound = -std::numeric_limits<double>::infinity();
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (size_t v = 0; v < problem_.variables.size(); ++v) pass(v, /*forwards=*/true);
      double least = 0;
      for (size_t v = problem_.variables.size(); v-- > 0;) least += pass(v, /*forwards=*/false);
      const double rise = least - bound.lower_bound;
      bound.lower_bound = std::max(bound.lower_bound, least);
      if (rise <= kRises * std::abs(least)) break;
    }
    decode(bound);
    bound_alternatives(bound);
    return bound;
  }

 private:
  size_t other(const Direction& direction) const {
    const CostEdge& edge = problem_.edges[direction.edge];
    return direction.from_first ? edge.second : edge.first;
  }
  double finite(double cost) const { return std::min(cost, forbidden_); }
  /// Return the message over an edge that arrives at the variable of this direction, and the one that it sends.
  std::vector<double>& arriving(const Direction& direction) {
    return direction.from_first ? to_first_[direction.edge] : to_second_[direction.edge];
  }
  std::vector<double>& sent(const Direction& direction) {
    return direction.from_first ? to_second_[direction.edge] : to_first_[direction.edge];
  }

  std::vector<double> gathered(size_t v) {
    std::vector<double> sum = *problem_.variables[v].seconds;
    for (double& cost : sum) cost = finite(cost);
    for (const Direction& direction : directions_[v]) {
      const std::vector<double>& message = arriving(direction);
      for (size_t a = 0; a < sum.size(); ++a) sum[a] += message[a];
    }
    return sum;
  }

  /// Sends the messages of variable `v` to the later variables (if `forwards`, else the earlier ones) that share an
  /// edge with it. Returns the variable's contribution to the bound.
  double pass(size_t v, bool forwards) {
    std::vector<double> sum = gathered(v);
    const double least = *std::ranges::min_element(sum);
    for (double& cost : sum) cost -= least;
    size_t later = 0;
    for (const Direction& direction : directions_[v]) later += other(direction) > v;
    const size_t chains = std::max<size_t>(1, std::max(later, directions_[v].size() - later));
    double bound = least;
    for (const Direction& direction : directions_[v]) {
      if ((other(direction) > v) != forwards) continue;
      std::vector<double> part = sum;
      const std::vector<double>& message = arriving(direction);
      for (size_t a = 0; a < part.size(); ++a) part[a] = part[a] / static_cast<double>(chains) - message[a];
      bound += send(direction, part);
    }
    return bound;
  }

  double send(const Direction& direction, const std::vector<double>& part) {
    const CostTable& table = *problem_.edges[direction.edge].table;
    std::vector<double>& message = sent(direction);
    std::ranges::fill(message, std::numeric_limits<double>::infinity());
    for (size_t a = 0; a < table.rows; ++a) {
      const double* row = table.seconds.data() + a * table.columns;
      if (direction.from_first) {
#pragma omp simd
        for (size_t b = 0; b < table.columns; ++b) {
          const double cost = part[a] + (row[b] < forbidden_ ? row[b] : forbidden_);
          message[b] = cost < message[b] ? cost : message[b];
        }
      } else {
        double least = message[a];
        for (size_t b = 0; b < table.columns; ++b) least = std::min(least, part[b] + finite(row[b]));
        message[a] = least;
      }
    }
    const double least = *std::ranges::min_element(message);
    for (double& cost : message) cost -= least;
    return least;
  }

  /// Sets `bound.chosen`: chooses each variable in order, given those before it and the messages of those after it.
  void decode(DualBound& bound) {
    bound.chosen.assign(problem_.variables.size(), 0);
    for (size_t v = 0; v < problem_.variables.size(); ++v) {
      std::vector<double> sum = *problem_.variables[v].seconds;
      for (const Direction& direction : directions_[v]) {
        const size_t from = other(direction);
        const CostTable& table = *problem_.edges[direction.edge].table;
        for (size_t a = 0; a < sum.size(); ++a) {
          sum[a] += from > v               ? arriving(direction)[a]
                    : direction.from_first ? table.at(a, bound.chosen[from])
                                           : table.at(bound.chosen[from], a);
        }
      }
      bound.chosen[v] = static_cast<size_t>(std::ranges::min_element(sum) - sum.begin());
    }
  }

  /// Sets `bound.least`. Adding the messages to the problem leaves its costs unchanged, so the sum of the minima of its
  /// parts is a lower bound.
  void bound_alternatives(DualBound& bound) {
    double total = 0;
    for (size_t e = 0; e < problem_.edges.size(); ++e) {
      const CostTable& table = *problem_.edges[e].table;
      double least = std::numeric_limits<double>::infinity();
      for (size_t a = 0; a < table.rows; ++a) {
        for (size_t b = 0; b < table.columns; ++b) {
          least = std::min(least, finite(table.at(a, b)) - to_first_[e][a] - to_second_[e][b]);
        }
      }
      total += least;
    }
    for (size_t v = 0; v < problem_.variables.size(); ++v) {
      bound.least.push_back(gathered(v));
      total += *std::ranges::min_element(bound.least[v]);
    }
    for (std::vector<double>& costs : bound.least) {
      const double least = *std::ranges::min_element(costs);
      for (double& cost : costs) cost += total - least;
    }
  }

  const CostProblem& problem_;
  std::vector<std::vector<Direction>> directions_;         // per variable
  std::vector<std::vector<double>> to_first_, to_second_;  // per edge: messages
  double forbidden_ = 0;
};

}  // namespace

DualBound dual_bound(const CostProblem& problem, int sweeps) { return MessagePassing(problem).run(sweeps); }

std::vector<size_t> polish(const CostProblem& problem, std::vector<size_t> chosen) {
  std::vector<std::vector<size_t>> edges(problem.variables.size());
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    edges[problem.edges[e].first].push_back(e);
    edges[problem.edges[e].second].push_back(e);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t v = 0; v < problem.variables.size(); ++v) {
      std::vector<double> sum = *problem.variables[v].seconds;
      for (size_t e : edges[v]) {
        const CostEdge& edge = problem.edges[e];
        for (size_t a = 0; a < sum.size(); ++a) {
          sum[a] += edge.first == v ? edge.table->at(a, chosen[edge.second]) : edge.table->at(chosen[edge.first], a);
        }
      }
      const size_t best = static_cast<size_t>(std::ranges::min_element(sum) - sum.begin());
      if (!(sum[best] < sum[chosen[v]] * (1 - 1e-12))) continue;
      chosen[v] = best;
      changed = true;
    }
  }
  return chosen;
}

ReducedProblem without_costly(const CostProblem& problem, const DualBound& bound, double most) {
  ReducedProblem reduced;
  for (size_t v = 0; v < problem.variables.size(); ++v) {
    std::vector<size_t>& kept = reduced.kept.emplace_back();
    std::vector<double> seconds;
    for (size_t a = 0; a < problem.variables[v].size(); ++a) {
      if (bound.least[v][a] > most) continue;
      kept.push_back(a);
      seconds.push_back((*problem.variables[v].seconds)[a]);
    }
    reduced.problem.variables.push_back({std::make_shared<const std::vector<double>>(std::move(seconds)), nullptr});
  }
  for (const CostEdge& edge : problem.edges) {
    CostTable table{reduced.kept[edge.first].size(), reduced.kept[edge.second].size(), {}};
    for (size_t a : reduced.kept[edge.first]) {
      for (size_t b : reduced.kept[edge.second]) table.seconds.push_back(edge.table->at(a, b));
    }
    reduced.problem.edges.push_back({edge.first, edge.second, std::make_shared<const CostTable>(std::move(table))});
  }
  return reduced;
}

}  // namespace partita
