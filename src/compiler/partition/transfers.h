#pragma once
// Values that pass from one pipeline stage to another, and the sections between which they pass.

#include "compiler/partition/sections.h"

namespace partita {

/// One value that a stage sends to another: once per micro-batch if it is sent after micro, backward or weight, else
/// once per step.
struct Transfer {
  int from_stage = 0, to_stage = 0;
  size_t output = 0, input = 0;     // indices in the graphs of the sender and the receiver
  Section sent = Section::once;     // section of the sender at whose end it is sent
  Section first = Section::update;  // section of the receiver before which it is received
  Section last = Section::update;   // last section of the receiver that reads it
  bool verdict = false;             // whether it is shared before the update

  bool in_micro_batches() const { return is_micro(sent); }
};

/// Returns the section after which an output is complete: that of its node or, if the node joins micro-batches, `late`
/// (`joined` in a prologue). `once` for an output that is an input or a state. `sections`: of each node of `local`.
Section section_of_output(const LocalGraph& local, const std::vector<Section>& sections, size_t output);

/// Returns all transfers, by receiver and then by its inputs: the order in which a stage sends those that are ready at
/// one point. Throws InternalError if a stage does not send a value that another receives, or sends one too late that
/// is needed before the first micro-batch.
std::vector<Transfer> transfers_of(const std::vector<const LocalGraph*>& stages);

}  // namespace partita
