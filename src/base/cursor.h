#pragma once
// Reads a line of text from left to right.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace partita {

/// Base of the readers of our text forms. Spaces before a token are skipped. A derived class formats the error message
/// of a refused text.
class Cursor {
 public:
  virtual ~Cursor() = default;
  /// Throws InvalidArgument with the derived class's message.
  [[noreturn]] void fail(std::string_view what, std::string_view got, std::string_view expected) const;

  /// Returns the unread part of the line.
  std::string_view rest() const { return rest_; }
  /// Skips `token` and the spaces after it, and returns true, if the rest begins with it. Otherwise skips nothing and
  /// returns false.
  bool take(std::string_view token);
  /// Skips `token` and the spaces after it. Throws InvalidArgument if the rest does not begin with `token`.
  void expect(std::string_view token);
  /// Returns the text before the next `token`, and skips both and the spaces after them. Throws InvalidArgument if
  /// `token` does not occur.
  std::string_view until(std::string_view token);
  /// Returns the next `count` characters, or fewer at the end of the line, and skips the spaces after them.
  std::string_view take(size_t count);
  /// Returns the unread part of the line and skips it.
  std::string_view take_rest() { return std::exchange(rest_, {}); }
  /// Reads a word of ASCII letters, digits and the characters of `also`, and skips the spaces after it. Throws
  /// InvalidArgument, with `expected`, if the rest begins with another character or is empty.
  std::string word(std::string_view also = "_.-/", std::string_view expected = "a name");
  /// Reads the text up to the next space, and skips the spaces after it; "" at the end of the line.
  std::string_view token() { return take(std::min(rest_.size(), rest_.find(' '))); }
  /// 2^60, so that the sum of two such numbers does not overflow.
  static constexpr int64_t kMaxNumber = int64_t{1} << 60;
  /// Reads the decimal integer with which the rest begins, and skips the spaces after it. Throws InvalidArgument if
  /// there is none or it is not from `least` to `most`; the message says `expected`, or the range if that is empty.
  int64_t number(int64_t least = 0, int64_t most = kMaxNumber, std::string_view expected = "");
  /// Reads the decimal integer with which the rest begins, and skips the spaces after it. Throws InvalidArgument if
  /// there is none or an int cannot hold it.
  int integer();
  /// Checks that the whole line has been read. Throws InvalidArgument, with `expected`, otherwise.
  void end(std::string_view expected = "the end of the line") const;

 protected:
  virtual std::string message(std::string_view what, std::string_view got, std::string_view expected) const = 0;
  explicit Cursor(std::string_view line) { set_rest(line); }
  Cursor(const Cursor&) = default;
  Cursor& operator=(const Cursor&) = default;
  void set_rest(std::string_view line);

 private:
  std::string_view rest_;
};

}  // namespace partita
