#pragma once
// Finds out which ranks are threads of one process, and brings these to an object that they share.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/comm/communicator.h"

namespace partita {

/// Returns what each rank brings, by rank. A collective call, as are the other functions. All throw LostRanks.
std::vector<int64_t> gathered(Communicator& ranks, int64_t own);
/// Returns whether the ranks are threads of one process; none if some of them are and others are not.
std::optional<bool> are_threads(Communicator& ranks);
/// Returns `of_first`, as the first rank passes it, on all ranks, which are threads of one process. Those of other
/// ranks are ignored.
std::shared_ptr<void> shared_by_threads(Communicator& ranks, const std::shared_ptr<void>& of_first);

}  // namespace partita
