#pragma once
// Names that people write in capitals or not.

#include <algorithm>
#include <string>
#include <string_view>

namespace partita {

/// Returns the text with the letters A to Z as small ones.
inline std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

}  // namespace partita
