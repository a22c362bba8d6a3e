#pragma once
// Reads the text forms of this folder line by line; every failure names its line.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace partita {

class LineReader {
 public:
  /// `what` is the word in messages: "[schedule line 7] ...". The text outlives the reader. Throws
  /// InvalidArgument when the first line is not "partita WHAT 1".
  LineReader(std::string what, std::string_view text);

  /// Goes to the next line that is neither empty nor a comment ('#'); false at the end.
  bool next();
  [[noreturn]] void fail(std::string_view what, std::string_view got, std::string_view expected) const;

  /// What is left of the line; spaces in front are skipped.
  std::string_view rest() const { return rest_; }
  bool take(std::string_view token);
  void expect(std::string_view token);
  /// What stands before `token`, which is skipped too.
  std::string_view until(std::string_view token);
  std::string_view take_rest() { return std::exchange(rest_, {}); }
  /// Letters, digits and the characters of `also`.
  std::string word(std::string_view also = "_.-/");
  /// 0 to 2^60, so that no sum of two overflows.
  int64_t number();
  /// Nothing is left of the line.
  void end() const;
  int line() const { return line_; }

 private:
  bool next_line();
  void drop(size_t count);

  std::string what_;
  std::string_view text_, rest_;
  int line_ = 0;
};

}  // namespace partita
