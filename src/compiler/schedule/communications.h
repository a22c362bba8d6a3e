#pragma once
// What a schedule sends to the other ranks of its stage, and what of it computation overlaps.

#include "base/collective.h"
#include "compiler/schedule/schedule.h"

namespace partita {

/// A collective node, or a bucket.
struct Communication {
  Section section = Section::once;  // in which it begins
  Collective kind = Collective::all_reduce;
  Reduce reduce = Reduce::none;
  Axes axes;
  int64_t bytes = 0;    // of the operand of a rank, the most
  bool last = false;    // in the last micro-batch only
  int64_t kernels = 0;  // that run before it is waited for; 0: it is exposed

  bool is_exposed() const { return kernels == 0; }
};

/// In the order in which they begin.
std::vector<Communication> communications_of(const Schedule& schedule, const LocalGraph& local);

}  // namespace partita
