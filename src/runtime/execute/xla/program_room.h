#pragma once
// Whether a device has the memory for the programs of a stage, and for the inputs of more than one step.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/emit/held_bytes.h"
#include "runtime/pjrt/client.h"

namespace partita {

/// The programs of a stage and their device.
struct ProgramRoom {
  const Segmenter& segmenter;
  const std::vector<int64_t>& coordinates;              // coordinates of the rank
  std::vector<Segment> segments;                        // in order
  std::vector<const pjrt::Executable*> programs;        // one of each segment; null: it has none
  std::optional<int64_t> limit;                         // bytes of the device; none: the plugin does not say
  int64_t inputs = 0;                                   // bytes of the inputs of a step
  std::function<std::string(const Segment&)> describe;  // names a program
};

/// Returns for how many more steps the device has memory for the inputs, 0, 1 or 2, with a tenth of all to spare; 2
/// without a limit. Checks the program that needs the most: with its temporaries, states, outputs, and values that it
/// uses or that are used before and after it. Throws RuntimeFailure(out_of_memory) if it does not fit.
int more_inputs(const ProgramRoom& room);

}  // namespace partita
