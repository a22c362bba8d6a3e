#pragma once
// Parts of self-contained HTML pages.

#include <string>
#include <string_view>

namespace partita {

/// Returns the text with the special characters of HTML escaped, such as "&lt;" for "<", and with "?" for control
/// characters other than tab and newline.
std::string escaped_html(std::string_view text);

/// Returns a page with the style of all pages and without external references. `title` is escaped here, `body` is HTML.
std::string html_document(std::string_view title, const std::string& body);

/// Returns a framed part of a page. `title` is escaped here, `body` is HTML.
std::string section(std::string_view title, const std::string& body);

/// Formats the items of a text between separators, such as "name=value", as chips: escaped HTML.
std::string chips(std::string_view text, char separator);

/// Returns a row of large figures with their captions.
class Figures {
 public:
  /// Adds a figure. Both texts are escaped here.
  void add(std::string_view value, std::string_view caption);
  std::string html() const;

 private:
  std::string items_;
};

}  // namespace partita
