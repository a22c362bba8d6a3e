#include "frontend/data/readers/document_tokens.h"

#include <algorithm>
#include <numeric>

#include "base/philox.h"

namespace partita {

DocumentTokens::DocumentTokens(TokenFile file, std::vector<uint32_t> lengths, std::optional<uint64_t> seed)
    : file_(std::move(file)), lengths_(std::move(lengths)) {
  if (seed) key_ = random_key(*seed, "documents");
  int64_t start = 0;
  for (size_t d = 0; d < lengths_.size(); ++d) {
    if (d % kBlock == 0) starts_.push_back(start);
    start += lengths_[d];
  }
  PARTITA_CHECK(start == file_.size(), "documents of {} ids in a file of {}", start, file_.size());
}

std::shared_ptr<const DocumentTokens::Order> DocumentTokens::order(int64_t epoch) const {
  if (!key_) epoch = 0;
  const std::lock_guard lock(mutex_);
  auto& [kept_epoch, kept] = kept_[static_cast<size_t>(epoch % 2)];
  if (kept != nullptr && kept_epoch == epoch) return kept;
  const auto documents = static_cast<int64_t>(lengths_.size());
  Order order;
  if (key_) order.documents.emplace(documents, *key_, static_cast<uint64_t>(epoch));
  order.tokens_before.reserve(lengths_.size() / kBlock + 1);
  // Documents are computed a few blocks before their lengths are needed, since most of these are not in a cache.
  constexpr int64_t kAhead = 4 * kBlock;
  std::array<int64_t, kAhead> ahead{};
  const auto fetch = [&](int64_t number) {
    const int64_t document = order.document(number);
    __builtin_prefetch(&lengths_[static_cast<size_t>(document)]);
    ahead[static_cast<size_t>(number % kAhead)] = document;
  };
  for (int64_t i = 0; i < std::min(documents, kAhead); ++i) fetch(i);
  int64_t tokens = 0;
  for (int64_t i = 0; i < documents; ++i) {
    if (i % static_cast<int64_t>(kBlock) == 0) order.tokens_before.push_back(tokens);
    tokens += lengths_[static_cast<size_t>(ahead[static_cast<size_t>(i % kAhead)])];
    if (i + kAhead < documents) fetch(i + kAhead);
  }
  kept_epoch = epoch;
  kept = std::make_shared<const Order>(std::move(order));
  return kept;
}

int64_t DocumentTokens::start_of(size_t document) const {
  const auto block = lengths_.begin() + static_cast<std::ptrdiff_t>(document / kBlock * kBlock);
  return std::accumulate(block, lengths_.begin() + static_cast<std::ptrdiff_t>(document), starts_[document / kBlock]);
}

void DocumentTokens::for_each_part(int64_t epoch, int64_t first, int64_t count,
                                   const std::function<void(const Part&)>& take) const {
  const std::shared_ptr<const Order> order = this->order(epoch);
  const auto after = std::ranges::upper_bound(order->tokens_before, first);
  int64_t start = *(after - 1);
  auto number = static_cast<int64_t>(kBlock) * (after - order->tokens_before.begin() - 1);
  while (count > 0) {
    const auto document = static_cast<size_t>(order->document(number++));
    const int64_t length = lengths_[document], skipped = first - start;
    start += length;
    if (skipped >= length) continue;
    const int64_t now = std::min(count, length - skipped);
    take({.position = start_of(document) + skipped, .count = now, .is_begin = skipped == 0});
    first += now;
    count -= now;
  }
}

void DocumentTokens::copy(int64_t epoch, int64_t first, int64_t count, int32_t* to) const {
  for_each_part(epoch, first, count, [&](const Part& part) {
    file_.copy(epoch, part.position, part.count, to);
    to += part.count;
  });
}

void DocumentTokens::copy_mask(int64_t epoch, int64_t first, int64_t count, bool* to) const {
  for_each_part(epoch, first, count, [&](const Part& part) {
    file_.copy_mask(epoch, part.position, part.count, to);
    to += part.count;
  });
}

void DocumentTokens::copy_starts(int64_t epoch, int64_t first, int64_t count, bool* to) const {
  for_each_part(epoch, first, count, [&](const Part& part) {
    std::fill_n(to, part.count, false);
    *to = part.is_begin;
    to += part.count;
  });
}

}  // namespace partita
