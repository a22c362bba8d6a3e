#include "plan/search/exact.h"

#include "base/error.h"
#include "plan/search/eliminate.h"

namespace partita {
namespace {

constexpr double kMostEntries = 2e8;

}  // namespace

SearchResult exact_search(const CostProblem& problem) {
  const std::optional<SearchResult> found = eliminate(problem, kMostEntries);
  PARTITA_CHECK(found.has_value(), "too wide");
  return *found;
}

}  // namespace partita
