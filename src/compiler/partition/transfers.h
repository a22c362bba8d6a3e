#pragma once
// Which values pass from one pipeline stage to another, and between which sections.

#include "compiler/partition/sections.h"

namespace partita {

/// Section::micro, backward and weight: for each micro-batch. Otherwise once in a step.
struct Transfer {
  int from_stage = 0, to_stage = 0;
  size_t output = 0, input = 0;     // of the two stages' graphs
  Section sent = Section::once;     // at the end of which it is sent
  Section first = Section::update;  // of the receiver: before which it is received
  Section last = Section::update;   // of the receiver: the last that reads it
  bool verdict = false;             // a part of what all stages share before the update

  bool in_micro_batches() const { return is_micro(sent); }
};

/// The section behind which an output is there: late for a sum over micro-batches, but of the prologue.
Section section_of_output(const LocalGraph& local, const std::vector<Section>& sections, size_t output);

/// In the order in which a stage sends them within a section. Throws InternalError unless every value that a stage
/// receives is sent to it.
std::vector<Transfer> transfers_of(const std::vector<const LocalGraph*>& stages);

}  // namespace partita
