#include "training/text_contexts.h"

#include <algorithm>

namespace partita {

Contexts::Contexts(std::vector<std::vector<int32_t>> texts, int64_t window) : window_(window) {
  for (std::vector<int32_t>& tokens : texts) {
    const int64_t size = static_cast<int64_t>(tokens.size());
    texts_.push_back({.tokens = std::move(tokens), .begin = std::max<int64_t>(0, size - window)});
  }
}

bool Contexts::have_all_ended() const {
  return std::ranges::all_of(texts_, [](const Text& text) { return text.has_ended; });
}

int64_t Contexts::length(size_t text) const {
  return static_cast<int64_t>(texts_[text].tokens.size()) - texts_[text].begin;
}

void Contexts::add(size_t text, std::optional<int32_t> token) {
  Text& own = texts_[text];
  own.has_ended = own.has_ended || !token;
  if (own.has_ended) return;
  own.tokens.push_back(*token);
  if (length(text) <= window_) return;
  own.begin = static_cast<int64_t>(own.tokens.size()) - std::max<int64_t>(1, window_ / 2);
  own.cached = 0;
}

int64_t Contexts::missing_at_most() const {
  int64_t most = 0;
  for (size_t text = 0; text < count(); ++text) {
    if (!has_ended(text)) most = std::max(most, length(text) - texts_[text].cached);
  }
  return most;
}

void Contexts::append(const Text& text, int64_t place, TokenRows& rows) {
  rows.tokens.push_back(text.tokens[static_cast<size_t>(text.begin + place)]);
  rows.positions.push_back(static_cast<int32_t>(place));
}

TokenRows Contexts::take(int64_t size) {
  TokenRows rows;
  for (size_t text = 0; text < count(); ++text) {
    Text& own = texts_[text];
    const int64_t missing = has_ended(text) ? 0 : length(text) - own.cached;
    const int64_t taken = std::clamp<int64_t>(missing - 1, 0, size);
    for (int64_t i = 0; i < taken; ++i) append(own, own.cached + i, rows);
    own.cached += taken;
    for (int64_t i = taken; i < size; ++i) append(own, std::max<int64_t>(0, own.cached - 1), rows);
  }
  return rows;
}

TokenRows Contexts::take_last() {
  TokenRows rows;
  for (size_t text = 0; text < count(); ++text) {
    Text& own = texts_[text];
    if (!own.has_ended) own.cached = length(text);
    append(own, std::max<int64_t>(0, own.cached - 1), rows);
  }
  return rows;
}

std::vector<int32_t> Contexts::whole() const {
  std::vector<int32_t> rows;
  for (size_t text = 0; text < count(); ++text) {
    const auto begin = texts_[text].tokens.begin() + texts_[text].begin;
    rows.insert(rows.end(), begin, texts_[text].tokens.end());
    rows.resize((text + 1) * static_cast<size_t>(window_), 0);
  }
  return rows;
}

}  // namespace partita
