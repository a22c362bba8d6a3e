#pragma once
// Regular expressions of tests. They are here alone, because their templates take seconds to compile in every source.

#include <string>
#include <vector>

namespace partita {

/// A part of a text that matches an expression (ECMAScript).
struct Match {
  size_t position = 0;
  std::vector<std::string> groups;  // the whole match, then its groups
};

/// Returns all matches from left to right, which do not overlap.
std::vector<Match> matches_of(const std::string& text, const std::string& expression);

/// Returns the whole text and the groups in it if all of it matches; empty if not.
std::vector<std::string> groups_of(const std::string& text, const std::string& expression);

/// Returns the text with another one in place of each match; `with` may name groups: "$1".
std::string replace_matches(const std::string& text, const std::string& expression, const std::string& with);

}  // namespace partita
