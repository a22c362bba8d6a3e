#pragma once
// Regular expressions that split texts.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace partita {

/// A regular expression in the syntax of Oniguruma, which Hugging Face's tokenizers use, run by PCRE2. White space is
/// that of Unicode. Threads do not share it.
class SplitPattern {
 public:
  /// Compiles the expression. Throws InvalidArgument if it is wrong or has what the two libraries read differently
  /// (\w, \b, \h, && in a class).
  explicit SplitPattern(const std::string& expression);
  SplitPattern& operator=(SplitPattern&&) = delete;
  ~SplitPattern();

  /// Calls `match` with begin and end of each match that is not empty, from left to right. `text` must be valid UTF-8.
  /// Throws InvalidFile if the pattern needs more steps or memory than it may use.
  void for_each(std::string_view text, const std::function<void(size_t, size_t)>& match) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

/// Returns an expression that matches the text itself.
std::string escaped_expression(std::string_view text);

}  // namespace partita
