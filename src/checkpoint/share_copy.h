#pragma once
// A copy of what a rank writes of its states: the training goes on while it is written.

#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include "checkpoint/shard_format.h"

namespace partita {

/// Memory where pieces lie as they will in their file, aligned to blocks of the disk: no processor copies them again,
/// neither here nor to the system's file cache.
class ShareCopy {
 public:
  /// Of memory that is there: nothing waits for it later.
  explicit ShareCopy(std::vector<ShardPiece> pieces);

  /// Where the elements of a piece are to lie, dense.
  void* place(size_t piece) { return memory_.get() + layout_.begins[piece]; }
  /// Computes the checksums of these pieces, with the compute threads of the caller. Throws RuntimeFailure(non_finite)
  /// when an element is NaN or infinite.
  void compute_checksums(std::span<const size_t> pieces);
  /// Those of all pieces.
  void compute_checksums();
  /// Those of one, with the calling thread alone; others may compute those of other pieces meanwhile.
  void compute_checksums_of(size_t piece);
  /// A new file with the pieces and their checksums, all of which are computed, on the disk. Throws
  /// RuntimeFailure(cannot_write).
  ShardDigest write(const std::string& path) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{kHugePage}); }
  };
  static constexpr size_t kHugePage = size_t{2} << 20;

  std::vector<ShardPiece> pieces_;
  FileLayout layout_;
  std::unique_ptr<std::byte[], Free> memory_;
  TileChecksums checksums_;
};

}  // namespace partita
