#pragma once
// The bytes of a stage's arena that hold values, over time.

#include "compiler/schedule/stage_program.h"

namespace partita {

/// The change of live bytes by an instruction of a micro-batch.
struct MemoryChange {
  int64_t taken = 0, released = 0;  // bytes that become live before it; bytes that are free after it
};

class LiveMemory {
 public:
  explicit LiveMemory(const StageProgram& stage);
  /// Returns the bytes that are always in use: the head of the arena, with states and all else that is kept between
  /// steps, and scratch.
  int64_t always() const { return always_; }
  MemoryChange change(size_t instruction, int64_t micro_batch) const;

 private:
  /// Bytes of the buffers whose lifetime begins or ends at an instruction: in every micro-batch, or only in the first
  /// or the last one.
  struct Changes {
    int64_t taken = 0, taken_first = 0, released = 0, released_last = 0;
    int64_t in_place = 0;  // bytes taken in place of a buffer that ends here
  };
  int64_t always_ = 0, micro_batches_ = 1;
  std::vector<Changes> changes_;
};

}  // namespace partita
