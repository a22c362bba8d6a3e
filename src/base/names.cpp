#include "base/names.h"

#include <algorithm>

namespace partita {

size_t position_of_name(std::string_view where, std::string_view text, const std::vector<std::string>& names) {
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  throw unknown_name(fmt::format("[{}] unknown name", where), text, fmt::format("one of {}", fmt::join(names, " ")),
                     names);
}

}  // namespace partita
