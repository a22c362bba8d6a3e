#pragma once
// Messages between the ranks of a stage in a schedule, and the computation that overlaps them.

#include "base/collective.h"
#include "compiler/schedule/schedule.h"

namespace partita {

/// A collective of one node, or of a bucket.
struct Communication {
  Section section = Section::once;  // section in which it begins
  Collective kind = Collective::all_reduce;
  Reduce reduce = Reduce::none;
  DType dtype = DType::f32;  // type of the elements on the wire
  Axes axes;
  int64_t bytes = 0;  // bytes of the largest operand of a rank, as they are sent
  /// Bytes by which the algorithm is chosen: those of the result of an all-gather, else those that are sent.
  int64_t call_bytes = 0;
  bool last = false;    // whether it runs only in the last micro-batch
  int64_t kernels = 0;  // number of kernels that run before it is waited for; 0: it is exposed

  bool is_exposed() const { return kernels == 0; }
};

/// Returns all communications, in the order in which they begin. Slices and joins, which move nothing between ranks,
/// are left out.
std::vector<Communication> communications_of(const Schedule& schedule, const LocalGraph& local);

}  // namespace partita
