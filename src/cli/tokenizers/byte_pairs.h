#pragma once
// Byte-level byte pair encoding (R. Sennrich et al., ACL 2016; A. Radford et al., "Language models are unsupervised
// multitask learners", 2019).

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace partita {

/// Returns the bytes that a token of a vocabulary stands for, in which each byte is written as a character of its own
/// ("Ġto" is " to"). Returns false for a text with other characters.
bool bytes_of_token(std::string_view token, std::string& bytes);

/// Returns the character that stands for a byte in a vocabulary.
std::string character_of(uint8_t byte);

/// A merge of two tokens into one; of several that are possible the one with the least rank is done first.
struct ByteMerge {
  uint32_t rank = 0;
  int32_t id = 0;
};

/// The vocabulary and the merges.
struct ByteVocabulary {
  std::array<int32_t, 256> byte_ids{};
  std::unordered_map<uint64_t, ByteMerge> merges{};        // by the ids of the left and the right token
  std::unordered_map<std::string, int32_t> whole_words{};  // words that are not merged: tokens by their bytes

  static uint64_t key(int32_t left, int32_t right) {
    return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
  }
};

/// Encodes words, and keeps the ids of those that it has seen.
class BytePairs {
 public:
  explicit BytePairs(ByteVocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  /// Appends the ids of a word to `ids`.
  void encode(std::string_view word, std::vector<int32_t>& ids);

 private:
  void merge(std::string_view word, std::vector<int32_t>& ids) const;

  ByteVocabulary vocabulary_;
  std::unordered_map<std::string, std::vector<int32_t>> seen_;
};

}  // namespace partita
