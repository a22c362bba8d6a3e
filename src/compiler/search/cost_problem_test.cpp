// Compares the solvers with an enumeration of all choices, on random problems.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "compiler/search/dual_bound.h"
#include "compiler/search/dynamic.h"
#include "compiler/search/eliminate.h"
#include "compiler/search/exact.h"

namespace partita {
namespace {

constexpr double kForbids = std::numeric_limits<double>::infinity();

class ProblemDice {
 public:
  explicit ProblemDice(uint64_t seed) : key_(random_key(seed, "problem")) {}
  size_t below(size_t count) { return static_cast<size_t>(random_below(key_, at_++, 0, static_cast<int64_t>(count))); }

 private:
  uint64_t key_;
  uint64_t at_ = 0;
};

struct DrawnProblem {
  size_t variables = 6, alternatives = 4, edges = 8;
  bool forbids = true;  // whether some pairs are forbidden; the first alternatives are always allowed together
};

/// Costs are whole numbers, so sums in any order are equal. Edges may be parallel.
CostProblem draw_problem(const DrawnProblem& draw, uint64_t seed) {
  ProblemDice dice(seed);
  const auto costs = [&](size_t count) {
    std::vector<double> list;
    for (size_t i = 0; i < count; ++i) list.push_back(static_cast<double>(dice.below(50)));
    return list;
  };
  CostProblem problem;
  for (size_t v = 0; v < draw.variables; ++v) {
    const size_t count = 1 + dice.below(draw.alternatives);
    problem.variables.push_back({std::make_shared<const std::vector<double>>(costs(count)),
                                 std::make_shared<const std::vector<double>>(costs(count))});
  }
  for (size_t e = 0; e < draw.edges && draw.variables > 1; ++e) {
    const size_t first = dice.below(draw.variables);
    const size_t second = (first + 1 + dice.below(draw.variables - 1)) % draw.variables;
    CostTable table{problem.variables[first].size(), problem.variables[second].size(), {}};
    table.seconds = costs(table.rows * table.columns);
    for (size_t i = 1; i < table.seconds.size() && draw.forbids; ++i) {
      if (dice.below(6) == 0) table.seconds[i] = kForbids;
    }
    problem.edges.push_back({first, second, std::make_shared<const CostTable>(std::move(table))});
  }
  return problem;
}

/// Minimum cost of all choices of at most `max_bytes`, and of those that contain each alternative.
struct AllChoices {
  double least = kForbids;
  std::vector<std::vector<double>> with;

  explicit AllChoices(const CostProblem& problem, double max_bytes = kForbids) {
    for (const CostVariable& variable : problem.variables) with.emplace_back(variable.size(), kForbids);
    std::vector<size_t> chosen(problem.variables.size(), 0);
    while (true) {
      if (problem.bytes(chosen) <= max_bytes) enter(problem.seconds(chosen), chosen);
      size_t v = 0;
      while (v < chosen.size() && ++chosen[v] == problem.variables[v].size()) chosen[v++] = 0;
      if (v == chosen.size()) return;
    }
  }

 private:
  void enter(double seconds, const std::vector<size_t>& chosen) {
    least = std::min(least, seconds);
    for (size_t v = 0; v < chosen.size(); ++v) with[v][chosen[v]] = std::min(with[v][chosen[v]], seconds);
  }
};

DrawnProblem sizes_of(uint64_t seed) {
  return {.variables = 1 + seed % 8, .alternatives = 2 + seed % 3, .edges = seed % 17, .forbids = seed % 2 == 0};
}

TEST(CostProblem, EverySearchFindsTheLeast) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const CostProblem problem = draw_problem(sizes_of(seed), seed);
    const AllChoices all(problem);
    for (const SearchResult& found : {exact_search(problem), dynamic_search(problem), *eliminate(problem)}) {
      EXPECT_EQ(found.seconds, all.least) << "seed " << seed;
      EXPECT_EQ(found.seconds, problem.seconds(found.chosen)) << "seed " << seed;
      EXPECT_EQ(found.lower_bound, found.seconds) << "seed " << seed;
    }
  }
}

TEST(CostProblem, EveryAlternativeHasAPrice) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const CostProblem problem = draw_problem(sizes_of(seed), seed);
    const AllChoices all(problem);
    for (size_t v = 0; v < all.with.size(); ++v) {
      EXPECT_EQ(costs_of_alternatives(problem, v), all.with[v]) << "seed " << seed;
    }
  }
}

TEST(CostProblem, BoundsAreBelowTheLeast) {
  double gap = 0, total = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const CostProblem problem = draw_problem(sizes_of(seed), seed);
    const AllChoices all(problem);
    const DualBound bound = dual_bound(problem, 50);
    EXPECT_LE(bound.lower_bound, all.least + 1e-6) << "seed " << seed;
    for (size_t v = 0; v < all.with.size(); ++v) {
      for (size_t a = 0; a < all.with[v].size(); ++a) {
        EXPECT_LE(bound.least[v][a], all.with[v][a] + 1e-6) << "seed " << seed;
      }
    }
    const std::vector<size_t> polished = polish(problem, bound.chosen);
    EXPECT_GE(problem.seconds(polished), all.least);
    gap += all.least - bound.lower_bound;
    total += all.least;
  }
  EXPECT_LT(gap, 0.05 * total);  // the bounds are tight enough to be useful
}

// If tables would be too large, the reduced problem is solved or the gap is reported.
TEST(CostProblem, WideProblemsHaveABound) {
  int exact = 0;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const CostProblem problem =
        draw_problem({.variables = 40, .alternatives = 12, .edges = 160, .forbids = false}, seed);
    EXPECT_FALSE(eliminate(problem)) << "seed " << seed;
    const SearchResult found = exact_search(problem);
    EXPECT_EQ(found.seconds, problem.seconds(found.chosen));
    EXPECT_LE(found.lower_bound, found.seconds);
    EXPECT_GT(found.lower_bound, 0.7 * found.seconds);
    exact += found.lower_bound == found.seconds;
    const SearchResult other = dynamic_search(problem);
    EXPECT_LE(other.lower_bound, found.seconds);
    EXPECT_GE(other.seconds, found.lower_bound);
  }
  EXPECT_LE(exact, 3);
}

// 300 equal parts in a chain. The limits count equal steps once, so that they do not depend on the length.
TEST(CostProblem, RepeatedPartsAreSolvedOnce) {
  const CostProblem part = draw_problem({.variables = 5, .alternatives = 4, .edges = 9, .forbids = false}, 3);
  const auto repeated = [&](size_t count, bool apart) {
    CostProblem problem;
    for (size_t i = 0; i < count; ++i) {
      const size_t base = problem.variables.size();
      for (const CostVariable& variable : part.variables) {
        problem.variables.push_back(
            apart ? CostVariable{std::make_shared<const std::vector<double>>(*variable.seconds), nullptr} : variable);
      }
      for (const CostEdge& edge : part.edges) {
        problem.edges.push_back({edge.first + base, edge.second + base,
                                 apart ? std::make_shared<const CostTable>(*edge.table) : edge.table});
      }
      if (i == 0) continue;
      const CostEdge& link = part.edges[0];
      problem.edges.push_back({base + link.first, base - part.variables.size() + link.second, link.table});
    }
    return problem;
  };
  const CostProblem folded = repeated(300, false), apart = repeated(300, true);
  const SearchResult one = exact_search(folded), other = exact_search(apart);
  EXPECT_EQ(one.seconds, other.seconds);
  EXPECT_EQ(one.chosen, other.chosen);
  EliminationLimits limits;
  for (limits.work = 64; !eliminate(folded, limits); limits.work *= 2) {
  }
  EXPECT_FALSE(eliminate(apart, limits));
}

TEST(CostProblem, MemoryIsAConstraint) {
  int constrained = 0, none = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    DrawnProblem sizes = sizes_of(seed);
    sizes.forbids = false;
    const CostProblem problem = draw_problem(sizes, seed);
    double min_bytes = 0;
    for (const CostVariable& variable : problem.variables) {
      if (variable.bytes) min_bytes += *std::ranges::min_element(*variable.bytes);
    }
    const double fastest = problem.bytes(exact_search(problem).chosen);
    for (const double part : {1.0, 0.8, 0.5, 0.1, 0.0, -0.1}) {
      const double most = min_bytes + part * (fastest - min_bytes) * (1 + 1e-12);
      const AllChoices all(problem, most);
      for (const SearchResult& found : {exact_search(problem, most), dynamic_search(problem, most)}) {
        SCOPED_TRACE(fmt::format("seed {}, {} of {} bytes", seed, most, fastest));
        if (!std::isfinite(all.least)) {
          ++none;
          EXPECT_NEAR(problem.bytes(found.chosen), min_bytes, 1e-9 * min_bytes);
          continue;
        }
        constrained += part < 1;
        EXPECT_LE(problem.bytes(found.chosen), most);
        EXPECT_GE(found.seconds, all.least * (1 - 1e-9));
        EXPECT_LE(found.lower_bound, all.least * (1 + 1e-9));
      }
    }
  }
  EXPECT_GT(constrained, 300);
  EXPECT_GT(none, 50);
}

}  // namespace
}  // namespace partita
