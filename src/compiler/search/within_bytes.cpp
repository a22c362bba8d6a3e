#include "compiler/search/within_bytes.h"

#include <algorithm>
#include <map>

namespace partita {
namespace {

constexpr int kPrices = 24;   // prices of a byte that are tried
constexpr double kRaise = 8;  // factor from one to the next until the choice fits

}  // namespace

double seconds_per_byte(double seconds, double bytes) { return seconds > 0 ? seconds / std::max(1.0, bytes) : 1; }

CostProblem with_price(const CostProblem& problem, double price) {
  if (price == 0) return problem;
  CostProblem priced{{}, problem.edges};
  std::map<std::pair<const void*, const void*>, std::shared_ptr<const std::vector<double>>> cache;
  for (const CostVariable& variable : problem.variables) {
    auto& seconds = cache[{variable.seconds.get(), variable.bytes.get()}];
    if (!seconds) {
      std::vector<double> sums = *variable.seconds;
      for (size_t a = 0; a < sums.size() && variable.bytes; ++a) sums[a] += price * (*variable.bytes)[a];
      seconds = std::make_shared<const std::vector<double>>(std::move(sums));
    }
    priced.variables.push_back({seconds, variable.bytes});
  }
  return priced;
}

SearchResult search_within(const CostProblem& problem, double max_bytes,
                           const std::function<SearchResult(const CostProblem&)>& solve) {
  SearchResult best = solve(problem);
  double bound = best.lower_bound, bytes = problem.bytes(best.chosen);
  if (bytes <= max_bytes) return best;
  double low = 0, high = 0, step = seconds_per_byte(best.seconds, bytes);
  for (int round = 0; round < kPrices; ++round) {
    const double price = high > 0 ? (low + high) / 2 : step;
    SearchResult found = solve(with_price(problem, price));
    found.seconds = problem.seconds(found.chosen);
    bound = std::max(bound, found.lower_bound - price * max_bytes);
    const double size = problem.bytes(found.chosen);
    const bool fits = size <= max_bytes, fitted = bytes <= max_bytes;
    if (fits ? !fitted || found.seconds < best.seconds : !fitted && size < bytes) {
      best = std::move(found);
      bytes = size;
    }
    if (fits) {
      high = price;
    } else {
      low = price;
      step *= kRaise;
    }
  }
  best.lower_bound = bytes <= max_bytes ? std::min(bound, best.seconds) : bound;
  return best;
}

}  // namespace partita
