#pragma once
// Token ids in a file, read in place.

#include "frontend/data/readers/random_access_file.h"
#include "frontend/data/readers/token_mask.h"
#include "frontend/data/readers/token_source.h"
#include "frontend/data/token_type.h"

namespace partita {

/// The part of a file that holds token ids, little-endian, in their order.
struct TokenRange {
  TokenType type = TokenType::u16;
  int64_t first_byte = 0;
  int64_t tokens = 0;
};

/// Token ids of a file, in the same order in every epoch.
class TokenFile : public TokenSource {
 public:
  /// Reads the ids of `range`, which the file holds. Ids that are not in [0, vocabulary) are refused when they are
  /// read; 0 = only those that do not fit an i32.
  TokenFile(RandomAccessFile file, const TokenRange& range, int64_t vocabulary);
  /// Sets the mask, which is that of the ids of `range`.
  void set_mask(TokenMask mask) { mask_ = std::move(mask); }

  int64_t size() const override { return range_.tokens; }
  /// Checks the ids that it reads. Throws InvalidFile, with the position, for an id beyond the vocabulary and for a
  /// file that became shorter.
  void copy(int64_t epoch, int64_t first, int64_t count, int32_t* to) const override;
  bool has_mask() const override { return mask_.has_value(); }
  void copy_mask(int64_t epoch, int64_t first, int64_t count, bool* to) const override;
  /// Returns the same ids from `first` on, `count` of them.
  TokenFile part(int64_t first, int64_t count) const;

 private:
  template <class Id>
  void copy_ids(int64_t first, int64_t count, int32_t* to) const;
  [[noreturn]] void refuse(int64_t id, int64_t position) const;

  RandomAccessFile file_;
  TokenRange range_;
  int64_t limit_;
  int64_t first_ = 0;  // position in the file of the first id
  std::optional<TokenMask> mask_ = std::nullopt;
};

}  // namespace partita
