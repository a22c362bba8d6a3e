#include "base/page/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/page/page_style.h"

namespace partita {

std::string escaped_html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return result;
}

std::string html_document(std::string_view title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>{}</title>"
      "<style>{}</style></head>\n<body><main>\n{}</main></body></html>\n",
      escaped_html(title), kPageStyle, body);
}

std::string section(std::string_view title, const std::string& body) {
  return fmt::format("<section><h2>{}</h2>{}</section>\n", escaped_html(title), body);
}

std::string chips(std::string_view text, char separator) {
  std::string result;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    while (text.starts_with(' ')) text.remove_prefix(1);
    result += fmt::format("<span class=\"chip\">{}</span>", escaped_html(item));
  }
  return result;
}

void Figures::add(std::string_view value, std::string_view caption) {
  items_ += fmt::format("<div><b>{}</b><span>{}</span></div>", escaped_html(value), escaped_html(caption));
}

std::string Figures::html() const { return "<div class=\"figures\">" + items_ + "</div>\n"; }

}  // namespace partita
