#pragma once
// Sequences as text, one line per group of ranks:
//
//   group 0: F0..F3 [B0 F4]..[B3 F7] B4..B7
//
// F, B and W are the forward, backward and weight slots of a micro-batch; "F0.2" is that of stage 2, where a group runs
// several stages. "F0..F3" stands for F0 F1 F2 F3. "[B0 F4]..[B3 F7]" repeats the bracketed slots: a section that
// occurs n times in the brackets advances by n micro-batches each time. Everything may also be written slot by slot.

#include <string>
#include <vector>

#include "ir/orders/sequence.h"

namespace partita {

/// Returns the sequence as text, a line for each group. Repeated blocks are abbreviated, other slots are written
/// singly.
std::string print(const Sequence& sequence, const PipelineShape& shape);

/// Whether two slots are of one section of one stage.
inline bool is_same_section(const Slot& a, const Slot& b) { return a.stage == b.stage && a.section == b.section; }

/// Returns, for each slot of a block, the number of micro-batches by which its section advances from one repetition to
/// the next: the number of slots that the section has in the block.
std::vector<int64_t> steps_of(const Slot* block, size_t period);

}  // namespace partita
