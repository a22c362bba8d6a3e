#pragma once
// Which bytes of a stage's arena hold values when.

#include "compiler/schedule/stage_program.h"

namespace partita {

/// Bytes that begin to hold a value before an instruction of a micro-batch, and no longer do behind it.
struct MemoryChange {
  int64_t taken = 0, released = 0;
};

class LiveMemory {
 public:
  explicit LiveMemory(const StageProgram& stage);
  /// Between steps: states, rows, scratch.
  int64_t always() const { return always_; }
  MemoryChange change(size_t instruction, int64_t micro_batch) const;

 private:
  /// Of the buffers that begin or end with an instruction, by in which micro-batches they do.
  struct Changes {
    int64_t taken = 0, taken_first = 0, released = 0, released_last = 0;
    int64_t in_place = 0;  // of what is taken: where something was that ends here
  };
  int64_t always_ = 0, micro_batches_ = 1;
  std::vector<Changes> changes_;
};

}  // namespace partita
