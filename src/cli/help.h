#pragma once
// --help: groups of flags, wrapped to the terminal.

#include <CLI/CLI.hpp>

namespace partita {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_footer(const CLI::App* app) const override;
};

/// `text` in lines of at most `columns`, those behind the first begun with `indent` spaces.
std::string wrapped(const std::string& text, size_t columns, size_t indent);

}  // namespace partita
