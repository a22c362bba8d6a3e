#pragma once
// Which ids a program has to check, and which the host can check before the program starts.

#include <functional>
#include <optional>

#include "compiler/schedule/schedule.h"

namespace partita {

class Segmenter;

/// A computation in a program whose ids have to be checked, since it gives zeros for those out of range.
struct IdCheck {
  size_t instruction = 0;
  int place = -1;           // place of the ids
  bool in_program = false;  // false: the host has the ids before the program starts
};

/// Returns the checks that the programs of a schedule need, in order; the same on all ranks. Ids that nothing writes
/// after they were checked for the same limit are not checked again, such as in a backward pass.
std::vector<IdCheck> id_checks_of(const Segmenter& segmenter, const Schedule& schedule, const LocalGraph& local,
                                  const OpSet& ops);

/// Calls `use` with the arguments of a node on the rank at `coordinates`.
void with_call(const Segmenter& segmenter, const LocalGraph& local, NodeId node,
               const std::vector<int64_t>& coordinates, const std::function<void(const OpCall&)>& use);

/// Returns the limit of a node's ids on the rank at `coordinates`, the same on each rank. `ids` is that of its op.
std::optional<int64_t> id_limit_of(const IdOperand& ids, const Segmenter& segmenter, const LocalGraph& local,
                                   NodeId node, const std::vector<int64_t>& coordinates);

}  // namespace partita
