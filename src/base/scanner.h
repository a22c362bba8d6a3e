#pragma once
// Reads the text forms of graphs, plans, schedules and catalogs line by line; every failure names its line.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace partita {

class Scanner {
 public:
  /// `what` is the word in messages: "[schedule line 7] ...". The text outlives the scanner. Throws InvalidArgument
  /// when it is too large, or its first line is not "partita WHAT 1": `otherwise` is said of a text of another kind,
  /// and `version` of another version.
  Scanner(std::string what, std::string_view text, std::string_view otherwise = "wrong first line",
          std::string_view version = "another version");

  /// Goes to the next line that is neither empty nor a comment ('#'); false at the end.
  bool next();
  /// Goes to a line that was read before.
  void go_to(int line, std::string_view rest);
  [[noreturn]] void fail(std::string_view what, std::string_view got, std::string_view expected) const;
  /// The result of `read`, whose errors then begin with the line.
  template <class Read>
  auto with_line(const Read& read) const {
    try {
      return read();
    } catch (const Error& error) {
      throw InvalidArgument(fmt::format("[{} line {}] {}", what_, line_, error.what()), error.kind());
    }
  }

  /// What is left of the line; spaces in front are skipped.
  std::string_view rest() const { return rest_; }
  bool take(std::string_view token);
  void expect(std::string_view token);
  /// What stands before `token`, which is skipped too.
  std::string_view until(std::string_view token);
  /// The next `count` characters; spaces behind them are skipped.
  std::string_view take(size_t count);
  std::string_view take_rest() { return std::exchange(rest_, {}); }
  /// Letters, digits and the characters of `also`.
  std::string word(std::string_view also = "_.-/");
  /// What stands before the next space; "" at the end of the line.
  std::string_view token() { return take(std::min(rest_.size(), rest_.find(' '))); }
  /// 0 to 2^60, so that no sum of two overflows.
  int64_t number();
  /// Any number that an int holds.
  int integer();
  /// Nothing is left of the line.
  void end() const;
  int line() const { return line_; }

 private:
  bool next_line();

  std::string what_;
  std::string_view text_, rest_;
  int line_ = 0;
};

}  // namespace partita
