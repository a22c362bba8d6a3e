#pragma once
// Reductions that combine the partial results of several ranks.

#include <optional>
#include <string_view>

namespace partita {

enum class Reduce { none, sum, max, min };

constexpr std::string_view name_of(Reduce reduce) {
  constexpr std::string_view names[] = {"none", "sum", "max", "min"};
  return names[static_cast<int>(reduce)];
}

/// Returns the reduction called `name`, or nothing if there is none.
constexpr std::optional<Reduce> parse_reduce(std::string_view name) {
  for (Reduce reduce : {Reduce::none, Reduce::sum, Reduce::max, Reduce::min}) {
    if (name_of(reduce) == name) return reduce;
  }
  return std::nullopt;
}

}  // namespace partita
