#pragma once
// The memory that values take on an accelerator while a program runs.

#include <set>

#include "compiler/emit/segments.h"

namespace partita {

/// Bytes of the values of a stage that are on the device while a program runs: its operands and results, and what is
/// used before and after it. The temporaries of the program come on top.
struct HeldBytes {
  int64_t states = 0, values = 0;
  int64_t all() const { return states + values; }
};

/// Returns the places of inputs that go to the device as they are given, and stay there: without micro-batches all that
/// programs read and no other stage sends.
std::set<int> kept_inputs(const Segmenter& segmenter);

/// Returns the bytes while each of `segments` runs, on the rank at `coordinates`. Values with a copy for each
/// micro-batch in flight count as often. States that another program holds count as nothing.
std::vector<HeldBytes> held_bytes(const Segmenter& segmenter, const std::vector<Segment>& segments,
                                  const std::vector<int64_t>& coordinates);

}  // namespace partita
