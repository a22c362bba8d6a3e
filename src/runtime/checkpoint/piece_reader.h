#pragma once
// Reads the elements of a state that a rank writes, dense.

#include <cstddef>
#include <memory>
#include <new>

#include "base/past_cache.h"
#include "runtime/execute/state_reader.h"

namespace partita {

/// A buffer that grows on demand and is reused.
class Scratch {
 public:
  /// Returns memory of at least `bytes` bytes, aligned to a cache line. Its contents are lost when it grows.
  void* of(int64_t bytes);

 private:
  static constexpr std::align_val_t kLine{kCacheLine};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, kLine); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  int64_t size_ = 0;
};

/// Reads a piece of a state, some rows of the first dimension at a time. Threads may call it concurrently, each with
/// its own Memory.
class PieceReader {
 public:
  /// Takes `piece`, a box of the whole value, which `read` and `copy` read from `state`. Throws InternalError unless it
  /// is empty or inside this rank's part.
  PieceReader(StateReader state, Box piece);

  struct Memory {
    Scratch rows, piece;
  };
  /// The dense elements of the piece with indices [first, last) in the first dimension of the whole value; the only
  /// element of a scalar. They are in the executor's memory or in `memory`, and stay valid until `memory` is used again
  /// or the next step. nullptr if there are no elements. The caller's compute threads do the reading.
  const void* read(int64_t first, int64_t last, Memory& memory) const;
  /// Returns all elements of the piece, dense; nullptr if there are none. They stay valid until `memory` is used again
  /// or the next step. The caller's compute threads do the reading.
  const void* read(Memory& memory) const;
  /// Copies the elements that `read` returns for `first` and `last`, at least one, to `to`, dense and past the caches.
  /// Returns their address as `read` does, or nullptr if not all are finite; integers always are.
  const void* copy(int64_t first, int64_t last, Memory& memory, void* to) const;

 private:
  /// Rows of the piece, and the rows of this rank's part around them.
  struct Part {
    Box box, held;                  // box: rows of the piece; held: all of these rows that the rank has
    int64_t held_first, held_last;  // rows within the rank's part
    int64_t wanted, all;            // number of elements in `box` and in `held`
  };
  Part part_of(int64_t first, int64_t last) const;
  int64_t bytes_of(int64_t elements) const { return elements * static_cast<int64_t>(size_of(state_.dtype())); }
  /// The elements of part.box, dense, out of the dense rows `held`. Copies to `memory` if they are not contiguous.
  const void* pack(const Part& part, const std::byte* held, Memory& memory) const;

  StateReader state_;
  Box piece_;
};

}  // namespace partita
