#pragma once
// Draws an order with characters.

#include <string>
#include <string_view>

#include "ir/orders/sequence.h"

namespace partita {

/// Returns a row per group over estimated time. A row shows the names of slots, the rest of a longer slot as "-", idle
/// time as "..", and then the group's idle fraction:
///
///   group 0: F0 F1 .. B0--- B1---  bubble 33.3 %
///
/// A cell is as long as the shortest slot, but at least 1/16 of the longest; slots that round to no cell are not shown.
/// Rows longer than `columns` characters show their beginning and end. A last line has the idle fraction of the average
/// group and the total time. `unit` names the unit of the times. The slots must be those of the shape (check.h). Throws
/// InvalidArgument for a sequence that deadlocks, a bad shape (bad numbers of stages, micro-batches, groups or times)
/// and bad dependencies (of unknown stages, on a later section, or in a cycle).
std::string draw(const Sequence& sequence, const PipelineShape& shape, const std::vector<Dependency>& dependencies,
                 int64_t columns = 160, std::string_view unit = "s");

}  // namespace partita
