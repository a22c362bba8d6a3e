#pragma once
// The ranks of a test: threads of this process or, when a launcher started several, the first of those processes. The
// same test program thus checks both.

#include <functional>

#include "base/shape.h"
#include "runtime/comm/communicator.h"

namespace partita {

/// Whether `ranks` ranks are available. Ranks that are threads always are.
bool can_run(int ranks);

/// Runs `fn` on each rank; a single rank is always a thread of this process. A process that is none of the ranks waits.
void on_ranks(int ranks, const std::function<void(Communicator&)>& fn);

/// After a run on processes every one gets what the first holds, so that all check the same; does nothing to threads.
void share(std::vector<double>& values);
void share(Array& array);

/// Whether ranks are processes.
bool ranks_are_processes();

}  // namespace partita
