#pragma once
// The elements of what a rank writes of a state, dense, as they are written.

#include <cstddef>
#include <memory>
#include <new>

#include "base/past_cache.h"
#include "runtime/execute/state_reader.h"

namespace partita {

/// Memory that grows, and is used again.
class Scratch {
 public:
  void* of(int64_t bytes);

 private:
  static constexpr std::align_val_t kLine{kCacheLine};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, kLine); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  int64_t size_ = 0;
};

/// Reads a piece of a state, rows along the first dimension at a time. Threads may call it side by side, each with
/// scratch memory of its own.
class PieceReader {
 public:
  /// The piece is a box of the whole value, in what the rank has of it.
  PieceReader(StateReader state, Box piece);

  struct Memory {
    Scratch rows, piece;
  };
  /// The elements of the piece with indices [first, last) of the first dimension of the whole value; of a scalar its
  /// only one. Where they lie in the memory of the executor, or in `memory`: valid until that is used again, or the
  /// next step. Read by the compute threads of the caller.
  const void* read(int64_t first, int64_t last, Memory& memory) const;
  /// All of them.
  const void* read(Memory& memory) const;
  /// What `read` gives, and a copy at `to`, past the caches; nullptr: not all are finite. There are elements.
  const void* copy(int64_t first, int64_t last, Memory& memory, void* to) const;

 private:
  /// Rows of the piece.
  struct Part {
    Box box, held;                  // what is asked for, and all that the rank has of these rows
    int64_t held_first, held_last;  // the rows, in what the rank has
    int64_t wanted, all;            // elements of both boxes
  };
  Part part_of(int64_t first, int64_t last) const;
  int64_t bytes_of(int64_t elements) const { return elements * static_cast<int64_t>(size_of(state_.dtype())); }
  /// What is asked for, out of all that the rank has of these rows, dense.
  const void* pack(const Part& part, const std::byte* held, Memory& memory) const;

  StateReader state_;
  Box piece_;
};

}  // namespace partita
