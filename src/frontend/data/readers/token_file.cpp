#include "frontend/data/readers/token_file.h"

#include <algorithm>
#include <array>
#include <limits>

namespace partita {
namespace {

constexpr int64_t kIdsAtOnce = 4096;

}  // namespace

TokenFile::TokenFile(RandomAccessFile file, const TokenRange& range, int64_t vocabulary)
    : file_(std::move(file)),
      range_(range),
      limit_(vocabulary > 0 ? vocabulary : int64_t{std::numeric_limits<int32_t>::max()} + 1) {
  PARTITA_CHECK(range.first_byte + range.tokens * width_of(range.type) <= file_.size(), "{} ids in {} bytes",
                range.tokens, file_.size());
}

TokenFile TokenFile::part(int64_t first, int64_t count) const {
  TokenFile part = *this;
  part.range_.first_byte += first * width_of(range_.type);
  part.range_.tokens = count;
  part.first_ += first;
  return part;
}

void TokenFile::copy(int64_t, int64_t first, int64_t count, int32_t* to) const {
  for_token_type(range_.type, [&](auto zero) { copy_ids<decltype(zero)>(first, count, to); });
}

void TokenFile::copy_mask(int64_t epoch, int64_t first, int64_t count, bool* to) const {
  if (!mask_) return TokenSource::copy_mask(epoch, first, count, to);
  mask_->copy(first_ + first, count, to);
}

template <class Id>
void TokenFile::copy_ids(int64_t first, int64_t count, int32_t* to) const {
  std::array<Id, kIdsAtOnce> ids;
  const auto limit = static_cast<uint64_t>(limit_);
  for (int64_t done = 0; done < count;) {
    const int64_t now = std::min(count - done, kIdsAtOnce);
    const auto width = static_cast<int64_t>(sizeof(Id));
    file_.read(range_.first_byte + (first + done) * width, ids.data(), now * width);
    bool is_within = true;
    for (int64_t i = 0; i < now; ++i) {
      const Id id = ids[static_cast<size_t>(i)];
      is_within &= static_cast<uint64_t>(static_cast<int64_t>(id)) < limit;
      to[done + i] = static_cast<int32_t>(id);
    }
    for (int64_t i = 0; !is_within; ++i) {
      const auto id = static_cast<int64_t>(ids[static_cast<size_t>(i)]);
      if (id < 0 || id >= limit_) refuse(id, first + done + i);
    }
    done += now;
  }
}

void TokenFile::refuse(int64_t id, int64_t position) const {
  throw InvalidFile("[tokens] id beyond the vocabulary in '{}', got {} at position {}, expected 0 to {}",
                    file_.path().string(), id, first_ + position, limit_ - 1);
}

}  // namespace partita
