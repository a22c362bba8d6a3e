#pragma once
// A copy of the part of the states that a rank writes, so that the training continues while it is written.

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>

#include "runtime/checkpoint/shard_format.h"

namespace partita {

/// Memory in which pieces are laid out as in their file, aligned to disk blocks. They are not copied again: neither
/// here nor to the system's file cache.
class ShareCopy {
 public:
  /// Allocates the memory and touches all pages, so that no later step waits for them. Throws std::bad_alloc without
  /// memory.
  explicit ShareCopy(std::vector<ShardPiece> pieces);

  /// Copies rows of a piece to `to`, dense: the elements with indices [first, last) in the first dimension of the whole
  /// tensor; the only element of a scalar. Returns the address of the same elements, valid until the same thread calls
  /// again; nullptr if not all are finite.
  using CopyRows = std::function<const void*(size_t piece, int64_t first, int64_t last, void* to)>;
  /// Copies the elements of all pieces with the caller's compute threads, which call `copy`. Also computes their
  /// checksums while they are in the cache, if `with_checksums`. Throws RuntimeFailure(non_finite) if an element is NaN
  /// or infinite, and what `copy` throws.
  void fill(const CopyRows& copy, bool with_checksums);
  /// Computes the checksums after a `fill` without them, with the caller's compute threads.
  void compute_checksums();
  /// Writes the pieces and their checksums, which are all computed, to a new file and waits until it is on the disk.
  /// Returns the file's digest. Throws RuntimeFailure(cannot_write) if the file exists or cannot be written.
  ShardDigest write(const std::string& path);

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{kHugePage}); }
  };
  static constexpr size_t kHugePage = size_t{2} << 20;
  /// Rows of tiles of a piece, copied by one thread at a time.
  struct Rows {
    size_t piece;
    int64_t first, last;   // [first, last) of the rows of tiles
    Range indices;         // in the first dimension of the whole tensor
    int64_t begin, bytes;  // begin: offset in the copy
  };

  void find_rows();
  void find_chunks();
  /// Calls fn(rows) for all elements of `rows_`, on the compute threads. If a call throws, makes no more calls and
  /// rethrows.
  template <class Fn>
  void for_all_rows(Fn&& fn);

  std::vector<ShardPiece> pieces_;
  FileLayout layout_;
  std::vector<std::optional<Tiles>> tiles_;  // per piece; none for a piece without elements
  std::vector<Rows> rows_;
  std::vector<std::pair<size_t, size_t>> chunks_;  // [first, last) of rows_ that one thread copies in order
  std::unique_ptr<std::byte[], Free> memory_;
  TileChecksums checksums_;
  ShardHeader header_;
};

}  // namespace partita
