#pragma once
// A copy of what a rank writes of its states: the training goes on while it is written.

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>

#include "runtime/checkpoint/shard_format.h"

namespace partita {

/// Memory where pieces lie as they will in their file, aligned to blocks of the disk: no processor copies them again,
/// neither here nor to the system's file cache.
class ShareCopy {
 public:
  /// Of memory that is there: nothing waits for it later.
  explicit ShareCopy(std::vector<ShardPiece> pieces);

  /// Copies the elements of a piece, of so many of its rows: those with indices [first, last) of the first dimension of
  /// the whole tensor, dense; of a scalar its only one. Gives them where they stay until the same thread calls again;
  /// nullptr: not all are finite.
  using CopyRows = std::function<const void*(size_t piece, int64_t first, int64_t last, void* to)>;
  /// Copies the elements of all pieces with the compute threads of the caller, which call `copy`, and computes their
  /// checksums as they pass, if asked to. Throws RuntimeFailure(non_finite) when an element is NaN or infinite, and
  /// what `copy` throws.
  void fill(const CopyRows& copy, bool with_checksums);
  /// Computes the checksums of what was copied without, with the compute threads of the caller.
  void compute_checksums();
  /// A new file with the pieces and their checksums, all of which are computed, on the disk. Throws
  /// RuntimeFailure(cannot_write).
  ShardDigest write(const std::string& path);

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{kHugePage}); }
  };
  static constexpr size_t kHugePage = size_t{2} << 20;
  /// Rows of tiles of a piece, which one thread copies.
  struct Rows {
    size_t piece;
    int64_t first, last;   // of its tiles
    Range indices;         // of the first dimension of the whole tensor
    int64_t begin, bytes;  // in the copy
  };

  void find_rows();
  void find_turns();
  /// Calls fn(rows) for all rows, with compute threads, until one throws.
  template <class Fn>
  void for_all_rows(Fn&& fn);

  std::vector<ShardPiece> pieces_;
  FileLayout layout_;
  std::vector<std::optional<Tiles>> tiles_;  // of each piece; none of one without elements
  std::vector<Rows> rows_;
  std::vector<std::pair<size_t, size_t>> turns_;  // [first, last) of the rows that one thread copies in their order
  std::unique_ptr<std::byte[], Free> memory_;
  TileChecksums checksums_;
  ShardHeader header_;
};

}  // namespace partita
