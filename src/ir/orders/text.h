#pragma once
// Sequences as text, one line per group of ranks:
//
//   group 0: F0..F3 [B0 F4]..[B3 F7] B4..B7
//
// F, B and W are the forward, backward and weight slots of a micro-batch; "F0.2" is that of stage 2, where a group runs
// several stages. "F0..F3" stands for F0 F1 F2 F3. "[B0 F4]..[B3 F7]" repeats the bracketed slots: a section that
// occurs n times in the brackets advances by n micro-batches each time. Everything may also be written slot by slot.

#include <string>
#include <string_view>

#include "ir/orders/sequence.h"

namespace partita {

/// Returns the sequence as text, a line for each group. Repeated blocks are abbreviated, other slots are written
/// singly.
std::string print(const Sequence& sequence, const PipelineShape& shape);

/// Parses a sequence. It is checked (check.h) and returned in a topological order, sorted by estimated start. Throws
/// InvalidArgument for other texts, a sequence that cannot run (a slot missing or twice, in a wrong order, or groups
/// that wait for each other), a bad shape and bad dependencies.
Sequence parse_sequence(std::string_view text, const PipelineShape& shape, const std::vector<Dependency>& dependencies);

}  // namespace partita
