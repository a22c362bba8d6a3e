#pragma once
// Lists in texts for people, shortened so that texts about thousands of ranks stay readable.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// Longest list that is printed in full. Longer ones show their first three elements and the last.
inline constexpr int64_t kMaxListed = 16;

/// Returns `count` elements as text: "3, 5" with the separator ", ", or "0, 1, 2, .., 99" for more than kMaxListed
/// elements. `at(i)` returns element i.
template <class At>
std::string listed(int64_t count, const At& at, std::string_view separator) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) text += separator;
    if (count > kMaxListed && i == 3) {
      text += "..";
      text += separator;
      i = count - 1;
    }
    text += fmt::format("{}", at(i));
  }
  return text;
}

/// Returns the elements of `values` as text: "3, 5" with the separator ", ", or "0, 1, 2, .., 99" for more than
/// kMaxListed elements.
template <class List>
std::string listed(const List& values, std::string_view separator) {
  return listed(
      static_cast<int64_t>(values.size()), [&](int64_t i) { return values[i]; }, separator);
}

/// Returns the first `most` names as text: "a, b and 3 more".
inline std::string first_of(const std::vector<std::string>& names, size_t most) {
  const size_t shown = std::min(names.size(), most);
  const std::string more = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "), more);
}

}  // namespace partita
