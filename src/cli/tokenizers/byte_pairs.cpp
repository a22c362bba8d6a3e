#include "cli/tokenizers/byte_pairs.h"

#include <queue>

namespace partita {
namespace {

constexpr size_t kMaxSeenWords = 1 << 18, kMaxSeenBytes = 64;

/// Code points of bytes: those of visible characters of Latin-1 are their own, others follow from 256 on.
constexpr std::array<uint16_t, 256> kPointsOfBytes = [] {
  std::array<uint16_t, 256> points{};
  uint16_t next = 256;
  for (size_t byte = 0; byte < points.size(); ++byte) {
    const bool is_visible = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    points[byte] = is_visible ? static_cast<uint16_t>(byte) : next++;
  }
  return points;
}();

constexpr std::array<int16_t, 512> kBytesOfPoints = [] {
  std::array<int16_t, 512> bytes{};
  for (int16_t& byte : bytes) byte = -1;
  for (size_t byte = 0; byte < kPointsOfBytes.size(); ++byte) bytes[kPointsOfBytes[byte]] = static_cast<int16_t>(byte);
  return bytes;
}();

/// A merge that may be done: of the token at `place` with the one after it, if they are still those that were seen.
struct Candidate {
  uint32_t rank;
  size_t place;
  int32_t left, right, id;
  bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : place > other.place; }
};

}  // namespace

std::string character_of(uint8_t byte) {
  const uint16_t point = kPointsOfBytes[byte];
  if (point < 0x80) return {static_cast<char>(point)};
  return {static_cast<char>(0xc0 | (point >> 6)), static_cast<char>(0x80 | (point & 0x3f))};
}

bool bytes_of_token(std::string_view token, std::string& bytes) {
  bytes.clear();
  for (size_t i = 0; i < token.size(); ++i) {
    const auto first = static_cast<uint8_t>(token[i]);
    uint32_t point = first;
    if (first >= 0x80) {  // two bytes make all the code points below 512
      if ((first & 0xe0) != 0xc0 || i + 1 == token.size()) return false;
      point = (first & 0x1fU) << 6 | (static_cast<uint8_t>(token[++i]) & 0x3fU);
    }
    if (point >= kBytesOfPoints.size() || kBytesOfPoints[point] < 0) return false;
    bytes += static_cast<char>(kBytesOfPoints[point]);
  }
  return true;
}

void BytePairs::encode(std::string_view word, std::vector<int32_t>& ids) {
  if (word.size() > kMaxSeenBytes) return merge(word, ids);
  const std::string key(word);
  const auto seen = seen_.find(key);
  if (seen != seen_.end()) {
    ids.insert(ids.end(), seen->second.begin(), seen->second.end());
    return;
  }
  std::vector<int32_t> fresh;
  merge(word, fresh);
  ids.insert(ids.end(), fresh.begin(), fresh.end());
  if (seen_.size() < kMaxSeenWords) seen_.emplace(key, std::move(fresh));
}

void BytePairs::merge(std::string_view word, std::vector<int32_t>& ids) const {
  if (!vocabulary_.whole_words.empty()) {
    const auto whole = vocabulary_.whole_words.find(std::string(word));
    if (whole != vocabulary_.whole_words.end()) return ids.push_back(whole->second);
  }
  constexpr size_t kNone = ~size_t{0};
  struct Symbol {
    int32_t id;
    size_t before, after;
  };
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    const int32_t id = vocabulary_.byte_ids[static_cast<uint8_t>(word[i])];
    symbols.push_back({id, i == 0 ? kNone : i - 1, i + 1 == word.size() ? kNone : i + 1});
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](size_t place) {
    if (place == kNone || symbols[place].after == kNone) return;
    const int32_t left = symbols[place].id, right = symbols[symbols[place].after].id;
    const auto found = vocabulary_.merges.find(ByteVocabulary::key(left, right));
    if (found != vocabulary_.merges.end()) {
      candidates.push({found->second.rank, place, left, right, found->second.id});
    }
  };
  for (size_t i = 0; i + 1 < symbols.size(); ++i) consider(i);
  constexpr int32_t kGone = -1;
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Symbol& left = symbols[best.place];
    if (left.id != best.left || left.after == kNone || symbols[left.after].id != best.right) continue;
    Symbol& right = symbols[left.after];
    left.id = best.id;
    left.after = right.after;
    right.id = kGone;
    if (left.after != kNone) symbols[left.after].before = best.place;
    consider(left.before);
    consider(best.place);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.id != kGone) ids.push_back(symbol.id);
  }
}

}  // namespace partita
