#pragma once
// --help: groups of flags, wrapped to the width of the terminal.

#include <CLI/CLI.hpp>

namespace partita {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_footer(const CLI::App* app) const override;
};

/// Returns the words of `text`, with single spaces, in lines of at most `columns` columns. Lines after the first begin
/// with `indent` spaces; for the first the caller writes them. A longer word gets a line of its own.
std::string wrapped(const std::string& text, size_t columns, size_t indent);

}  // namespace partita
