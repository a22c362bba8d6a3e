#pragma once
// Checks of pages for tests.

#include <string>
#include <vector>

namespace partita {

/// The first fault of a page as XML: tags that are not closed in order, attributes without quotes, a bare '&' or '<';
/// "" if there is none.
inline std::string fault_of_page(const std::string& html) {
  std::vector<std::string> open;
  const std::string begin = "<!DOCTYPE html>\n";
  if (!html.starts_with(begin)) return "no doctype";
  for (size_t at = begin.size(); at < html.size();) {
    if (html[at] == '&') {
      const size_t end = html.find(';', at);
      if (end == html.npos || end - at > 8) return "a bare & at " + html.substr(at, 20);
    }
    if (html[at] == '>') return "a bare > at " + html.substr(at - std::min<size_t>(at, 20), 40);
    if (html[at++] != '<') continue;
    const bool closes = html[at] == '/';
    if (closes) ++at;
    const size_t name_end = html.find_first_of(" />", at);
    const std::string name = html.substr(at, name_end - at);
    if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != name.npos)
      return "tag " + name;
    at = name_end;
    while (html[at] == ' ') {  // attributes
      const size_t quote = html.find_first_of("\"<>", at);
      if (quote == html.npos || html[quote] != '"' || html[quote - 1] != '=') return "attribute of " + name;
      at = html.find('"', quote + 1) + 1;
      if (at == 0 || html.substr(quote, at - quote).find('<') != html.npos) return "attribute of " + name;
    }
    const bool is_empty = html[at] == '/';
    if (is_empty) ++at;
    if (html[at++] != '>') return "end of " + name;
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + ">";
      open.pop_back();
    } else if (!is_empty) {
      open.push_back(name);
    }
    if ((name == "style" || name == "script") && !closes) at = html.find("</" + name + ">", at);
  }
  return open.empty() ? "" : "<" + open.back() + ">";
}

}  // namespace partita
