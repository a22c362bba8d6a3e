#pragma once
// Token ids one after another, of which rows are windows.

#include <algorithm>

#include "frontend/data/dataset.h"

namespace partita {

/// Token ids in an order that may be another one in each epoch.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// Number of tokens per epoch.
  virtual int64_t size() const = 0;
  /// Writes the `count` tokens from position `first` of an epoch on to `to`. The range is not checked. Thread-safe.
  /// Throws InvalidFile if a file cannot be read or holds an id that is refused.
  virtual void copy(int64_t epoch, int64_t first, int64_t count, int32_t* to) const = 0;
  /// Whether some tokens may be no targets.
  virtual bool has_mask() const { return false; }
  /// Writes for the same tokens as `copy` whether each is a target, in a source that has a mask. Thread-safe. Throws
  /// InvalidFile if a file cannot be read.
  virtual void copy_mask(int64_t epoch, int64_t first, int64_t count, bool* to) const {
    (void)epoch, (void)first, std::fill_n(to, count, true);
  }
  /// Whether the tokens are those of documents whose ends are known.
  virtual bool has_documents() const { return false; }
  /// Writes for the same tokens as `copy` whether each is the first of a document, in a source that has documents.
  /// Thread-safe.
  virtual void copy_starts(int64_t epoch, int64_t first, int64_t count, bool* to) const {
    (void)epoch, (void)first, std::fill_n(to, count, false);
  }
  /// Returns the smallest and the largest of the first `count` tokens if they are in memory, else nothing. `count` is
  /// at least 1.
  virtual std::optional<IntegerRange> integers(int64_t count) const { return (void)count, std::nullopt; }
};

using TokenSourcePtr = std::shared_ptr<const TokenSource>;

}  // namespace partita
