#pragma once
// The elements of what a rank writes of a state, dense, as they are written.

#include <memory>

#include "execute/state_reader.h"

namespace partita {

/// Memory that grows, and is used again.
class Scratch {
 public:
  void* of(int64_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;
  int64_t size_ = 0;
};

/// Reads a piece of a state, rows along the first dimension at a time. Threads may call it side by side, each with
/// scratch memory of its own.
class PieceReader {
 public:
  /// The piece is a box of the whole value, in what the rank has of it.
  PieceReader(StateReader state, Box piece) : state_(std::move(state)), piece_(std::move(piece)) {}

  struct Memory {
    Scratch rows, piece;
  };
  /// The elements of the piece with indices [first, last) of the first dimension of the whole value; of a scalar its
  /// only one. Where they lie in the memory of the executor, or in `memory`: valid until that is used again, or the
  /// next step.
  const void* read(int64_t first, int64_t last, Memory& memory) const;
  /// All of them.
  const void* read(Memory& memory) const;

 private:
  StateReader state_;
  Box piece_;
};

}  // namespace partita
