#include "support/matches.h"

#include <regex>

namespace partita {
namespace {

std::vector<std::string> texts_of(const std::smatch& match) { return {match.begin(), match.end()}; }

}  // namespace

std::vector<Match> matches_of(const std::string& text, const std::string& expression) {
  const std::regex regex(expression);
  std::vector<Match> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    found.push_back({static_cast<size_t>(at->position()), texts_of(*at)});
  }
  return found;
}

std::vector<std::string> groups_of(const std::string& text, const std::string& expression) {
  std::smatch match;
  if (!std::regex_match(text, match, std::regex(expression))) return {};
  return texts_of(match);
}

std::string replace_matches(const std::string& text, const std::string& expression, const std::string& with) {
  return std::regex_replace(text, std::regex(expression), with);
}

}  // namespace partita
