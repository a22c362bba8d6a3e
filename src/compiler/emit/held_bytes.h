#pragma once
// The memory that values take on an accelerator while a program runs.

#include "compiler/emit/segments.h"

namespace partita {

/// Bytes of the values of a stage that are on the device while a program runs: its operands and results, and what is
/// used before and after it. The temporaries of the program come on top.
struct HeldBytes {
  int64_t states = 0, values = 0;
  int64_t all() const { return states + values; }
};

/// Returns the bytes while each of `segments` runs, on the rank at `coordinates`. Values with a copy for each
/// micro-batch in flight count as often. States that another program holds count as nothing. Inputs that no
/// micro-batches split stay throughout.
std::vector<HeldBytes> held_bytes(const Segmenter& segmenter, const std::vector<Segment>& segments,
                                  const std::vector<int64_t>& coordinates);

}  // namespace partita
