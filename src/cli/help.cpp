#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/plain_text.h"
#include "training/report/progress.h"

namespace partita {
namespace {

constexpr size_t kNameColumns = 34;  // columns of the names, indent included
constexpr size_t kMinColumns = 60, kMaxColumns = 110;

size_t columns() { return std::clamp<size_t>(terminal_columns(), kMinColumns, kMaxColumns); }

/// Breaks a name with a list of values, "  --flag a|b|c", after bars into lines of at most `columns`.
std::string broken_at_bars(std::string name, size_t columns) {
  const std::string indent(6, ' ');
  std::string lines;
  while (name.size() > columns) {
    const size_t bar = name.rfind('|', columns - 1);
    if (bar == std::string::npos) break;
    lines += name.substr(0, bar + 1) + "\n";
    name = indent + name.substr(bar + 1);
  }
  return lines + name;
}

}  // namespace

std::string wrapped(const std::string& text, size_t columns, size_t indent) {
  std::string result;
  size_t used = indent;
  for (const std::string_view word : split_words(text)) {
    const bool begins = result.empty();
    if (!begins && used + 1 + word.size() > columns) {
      result += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!begins) {
      result += ' ';
      ++used;
    }
    result += word;
    used += word.size();
  }
  return result;
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  std::string text = fmt::format("\n{}:\n", group);
  for (const CLI::Option* option : options) text += make_option(option, is_positional);
  return text;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  const bool is_switch = !option->get_fnames().empty();  // it has a --no- form
  std::string name = is_switch ? "--[no-]" + option->get_lnames()[0] : make_option_name(option, is_positional);
  name = "  " + name;
  if (!is_positional && option->get_type_size() != 0) name += " " + option->get_type_name();
  name = broken_at_bars(std::move(name), columns());
  const std::string text = wrapped(make_option_desc(option), columns(), kNameColumns);
  if (name.size() + 1 >= kNameColumns) return fmt::format("{}\n{}{}\n", name, std::string(kNameColumns, ' '), text);
  return fmt::format("{:<{}}{}\n", name, kNameColumns, text);
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  std::string text;
  const std::string footer = app->get_footer();
  for (const std::string_view line : split_lines(footer)) text += wrapped(std::string(line), columns(), 2) + "\n";
  return text.empty() ? text : "\n" + text;
}

}  // namespace partita
