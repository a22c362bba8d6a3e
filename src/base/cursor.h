#pragma once
// Reads a line of text from left to right.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace partita {

/// What every reader of our text forms is made of. Spaces in front of a token are skipped. A derived class words
/// what is said of a text that is refused.
class Cursor {
 public:
  virtual ~Cursor() = default;
  /// Throws InvalidArgument with the message.
  [[noreturn]] void fail(std::string_view what, std::string_view got, std::string_view expected) const;

  /// What is left of the line.
  std::string_view rest() const { return rest_; }
  bool take(std::string_view token);
  void expect(std::string_view token);
  /// What stands before `token`, which is skipped too.
  std::string_view until(std::string_view token);
  /// The next `count` characters; spaces behind them are skipped.
  std::string_view take(size_t count);
  std::string_view take_rest() { return std::exchange(rest_, {}); }
  /// Letters, digits and the characters of `also`; one at least.
  std::string word(std::string_view also = "_.-/", std::string_view expected = "a name");
  /// What stands before the next space; "" at the end of the line.
  std::string_view token() { return take(std::min(rest_.size(), rest_.find(' '))); }
  /// 2^60, so that no sum of two overflows.
  static constexpr int64_t kMaxNumber = int64_t{1} << 60;
  /// Decimal digits; `expected` is said of others, the range when it is empty.
  int64_t number(int64_t least = 0, int64_t most = kMaxNumber, std::string_view expected = "");
  /// Any number that an int holds.
  int integer();
  /// Nothing is left of the line.
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
