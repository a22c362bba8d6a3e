#pragma once
// An order as a picture in characters.

#include <string>
#include <string_view>

#include "ir/orders/sequence.h"

namespace partita {

/// A row per group over estimated time: names of slots, the rest of a longer slot as "-", idle time as "..", and behind
/// it the part of the time that the group is idle:
///
///   group 0: F0 F1 .. B0--- B1---  bubble 33.3 %
///
/// A cell is as long as the shortest slot, or a 16th of the longest: slots that round to no cell are not seen. Of rows
/// longer than `columns` the beginning and the end are shown. Throws InvalidArgument for a sequence that cannot end.
std::string draw(const Sequence& sequence, const PipelineShape& shape, const std::vector<Dependency>& dependencies,
                 int64_t columns = 160, std::string_view unit = "s");

}  // namespace partita
