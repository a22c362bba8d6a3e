#include "fuzz/mutator.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>

namespace partita {
namespace {

constexpr size_t kMaxPool = 1000;
constexpr size_t kMaxOfKind = 8;  // inputs of one outcome in the pool

const std::vector<std::string>& usual_words() {
  static const std::vector<std::string> words{"0",    "-1",   "1",  "1.5", "1e999", "-0.0", "nan",     "inf",  "null",
                                              "true", "\"",   "'",  "[",   "]",     "{",    "}",       "(",    ")",
                                              ",",    ":",    "=",  ";",   "%",     "#",    "..",      ".",    " ",
                                              "\n",   "\r\n", "\\", "[[",  "]]",    "\xff", "\\u0000", "\xc3", "\x1b"};
  return words;
}

constexpr int64_t kNumbers[] = {0,
                                1,
                                -1,
                                2,
                                7,
                                8,
                                16,
                                64,
                                127,
                                128,
                                255,
                                256,
                                1024,
                                32767,
                                65535,
                                65536,
                                1 << 20,
                                (1 << 20) + 1,
                                std::numeric_limits<int32_t>::max(),
                                std::numeric_limits<int32_t>::min(),
                                int64_t{1} << 32,
                                int64_t{1} << 40,
                                int64_t{1} << 60,
                                std::numeric_limits<int64_t>::max() / 16,
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min()};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

Mutator::Mutator(std::vector<std::string> seeds, std::vector<std::string> words, size_t max_bytes, uint64_t seed)
    : pool_(std::move(seeds)), words_(std::move(words)), seeds_(pool_.size()), max_bytes_(max_bytes), random_(seed) {
  words_.insert(words_.end(), usual_words().begin(), usual_words().end());
}

std::string Mutator::next() {
  static constexpr Change kChanges[] = {
      &Mutator::flip,  &Mutator::set_byte, &Mutator::set_number,  &Mutator::set_digits,   &Mutator::set_digits,
      &Mutator::erase, &Mutator::erase,    &Mutator::insert_word, &Mutator::insert_word,  &Mutator::replace_by_word,
      &Mutator::copy,  &Mutator::repeat,   &Mutator::cross,       &Mutator::change_lines, &Mutator::change_lines};
  // Half of all begin with a seed: a pool of refused inputs leads away from what is accepted.
  std::string text = pool_[below(below(2) == 0 ? seeds_ : pool_.size())];
  // One change in half of all cases, and rarely many.
  do {
    (this->*kChanges[below(std::size(kChanges))])(text);
  } while (below(2) == 0);
  text.resize(std::min(text.size(), std::max(max_bytes_, pool_[0].size())));
  return last_ = text;
}

void Mutator::learn(const std::string& kind) {
  if (kinds_.count(kind) >= kMaxOfKind) return;
  kinds_.insert(kind);
  if (pool_.size() < kMaxPool) {
    pool_.push_back(last_);
  } else if (pool_.size() > seeds_) {
    pool_[seeds_ + below(pool_.size() - seeds_)] = last_;
  }
}

size_t Mutator::length(size_t most) { return std::min(most, 1 + below(below(4) == 0 ? most + 1 : 16)); }

void Mutator::flip(std::string& text) {
  if (!text.empty()) text[below(text.size())] ^= static_cast<char>(1 << below(8));
}

void Mutator::set_byte(std::string& text) {
  if (!text.empty()) text[below(text.size())] = static_cast<char>(below(256));
}

void Mutator::set_number(std::string& text) {
  const size_t bytes = size_t{1} << below(4);
  if (text.size() < bytes) return;
  int64_t number = kNumbers[below(std::size(kNumbers))];
  if (below(4) == 0) number = static_cast<int64_t>(text.size() + below(17)) - 8;
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);  // the low bytes first
  if (below(4) == 0) std::reverse(raw, raw + bytes);
  // Fields of binary formats are mostly aligned.
  const size_t at = below(text.size() - bytes + 1);
  std::copy_n(raw, bytes, text.begin() + static_cast<std::ptrdiff_t>(below(2) == 0 ? at : at / bytes * bytes));
}

void Mutator::set_digits(std::string& text) {
  const auto from = text.begin() + static_cast<std::ptrdiff_t>(below(text.size() + 1));
  const auto begin = std::find_if(from, text.end(), is_digit), end = std::find_if_not(begin, text.end(), is_digit);
  if (begin == text.end()) return;
  int64_t number = kNumbers[below(std::size(kNumbers))];
  if (below(2) == 0 && end - begin < 10)
    number = std::stoll(std::string(begin, end)) + static_cast<int64_t>(below(5)) - 2;
  text.replace(begin, end, std::to_string(number));
}

void Mutator::erase(std::string& text) {
  const size_t at = below(text.size() + 1);
  text.erase(at, length(text.size() - at));
}

void Mutator::insert_word(std::string& text) { text.insert(below(text.size() + 1), one_of(words_)); }

void Mutator::replace_by_word(std::string& text) {
  const size_t at = below(text.size() + 1);
  text.replace(at, length(text.size() - at), one_of(words_));
}

void Mutator::copy(std::string& text) {
  const size_t from = below(text.size() + 1);
  text.insert(below(text.size() + 1), text.substr(from, length(text.size() - from)));
}

void Mutator::repeat(std::string& text) {
  const size_t from = below(text.size() + 1);
  const std::string piece = below(2) == 0 ? one_of(words_) : text.substr(from, length(text.size() - from));
  if (piece.empty()) return;
  std::string all;
  const size_t times = size_t{1} << below(15);
  for (size_t i = 0; i < times && all.size() < max_bytes_; ++i) all += piece;
  text.insert(below(text.size() + 1), all);
}

void Mutator::cross(std::string& text) {
  const std::string& other = one_of(pool_);
  const size_t from = below(other.size() + 1), at = below(text.size() + 1);
  const std::string piece = other.substr(from, length(other.size() - from));
  if (below(2) == 0) {
    text.insert(at, piece);
  } else {
    text.replace(at, length(text.size() - at), piece);
  }
}

void Mutator::change_lines(std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (lines.size() < 3) return;
  const size_t at = below(lines.size()), other = below(lines.size());
  switch (below(4)) {
    case 0: std::swap(lines[at], lines[other]); break;
    case 1: lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at)); break;
    case 2: lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), std::string(lines[other])); break;
    default: {  // the end of another line after the begin of this one
      const std::string& from = lines[other];
      lines[at] = lines[at].substr(0, below(lines[at].size() + 1)) + from.substr(below(from.size() + 1));
    }
  }
  text.clear();
  for (size_t i = 0; i < lines.size(); ++i) text += (i > 0 ? "\n" : "") + lines[i];
}

}  // namespace partita
