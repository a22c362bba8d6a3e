#pragma once
// Tokens that are found in a text as they are, before it is split into words, such as "<|endoftext|>".

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

struct AddedToken {
  std::string text{};
  int32_t id = 0;
  bool takes_left = false, takes_right = false;  // the white space before it, and after it
};

/// Finds added tokens: the leftmost, and of those that begin there the longest.
class AddedTokens {
 public:
  /// Adds a token whose text is not empty.
  void add(AddedToken token);
  /// Calls `rest` with each part of a text, which is not empty, and `token` with the id of each token, in their order.
  void split(std::string_view text, const std::function<void(std::string_view)>& rest,
             const std::function<void(int32_t)>& token) const;

 private:
  std::array<std::vector<AddedToken>, 256> by_first_byte_{};  // longest first
};

}  // namespace partita
