#pragma once
// Sequences as text, a line for each group of ranks:
//
//   group 0: F0..F3 [B0 F4]..[B3 F7] B4..B7
//
// F, B and W are the forward, backward and weight slot of a micro-batch; "F0.2" is that of stage 2, where a group runs
// several stages. "F0..F3" stands for F0 F1 F2 F3. "[B0 F4]..[B3 F7]" repeats the slots between the brackets; what is
// n times in there grows by n micro-batches each time. Any of it may be written slot by slot instead.

#include <string>
#include <string_view>

#include "ir/orders/sequence.h"

namespace partita {

/// What repeats itself is written once, however often that is; other slots stand one by one.
std::string print(const Sequence& sequence, const PipelineShape& shape);

/// Reads what groups run; the result is checked (check.h) and a topological order, sorted by estimated start. Throws
/// InvalidArgument.
Sequence parse_sequence(std::string_view text, const PipelineShape& shape, const std::vector<Dependency>& dependencies);

}  // namespace partita
