#pragma once
// The part of each text that a network sees, and how much of it the caches have.

#include <cstdint>
#include <optional>
#include <vector>

namespace partita {

/// Tokens that one run of a program takes, one row per text.
struct TokenRows {
  std::vector<int32_t> tokens, positions;  // [texts, s]
};

/// Texts that grow, each of which is seen through a window that moves by half its size.
class Contexts {
 public:
  /// Each text has at least one token; `window` is at least 1.
  Contexts(std::vector<std::vector<int32_t>> texts, int64_t window);

  size_t count() const { return texts_.size(); }
  bool has_ended(size_t text) const { return texts_[text].has_ended; }
  bool have_all_ended() const;
  /// Ends a text, or lengthens it by a token. Its window moves if it is full.
  void add(size_t text, std::optional<int32_t> token);

  /// Returns the largest number of tokens that a text has and its cache has not. Those of a text that has ended do not
  /// count.
  int64_t missing_at_most() const;
  /// Returns the next `size` tokens that the caches lack, but leaves the last of each text, and counts them as there. A
  /// text with fewer repeats the last one, which leaves its cache as it is, up to rounding.
  TokenRows take(int64_t size);
  /// Returns the last token of each text and counts it as there. All tokens before it must be.
  TokenRows take_last();
  /// Returns the windows from their begin, filled up with zeros: [texts, window].
  std::vector<int32_t> whole() const;
  /// Returns the number of tokens in the window of a text.
  int64_t length(size_t text) const;

 private:
  struct Text {
    std::vector<int32_t> tokens;
    int64_t begin = 0;   // first token in the window
    int64_t cached = 0;  // tokens from there on that the cache has
    bool has_ended = false;
  };

  /// Appends token number `place` of a window to a row.
  static void append(const Text& text, int64_t place, TokenRows& rows);

  std::vector<Text> texts_;
  int64_t window_;
};

}  // namespace partita
