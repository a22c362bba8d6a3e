#pragma once
// Makes collectives asynchronous, so that they overlap computation.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Starts each all-gather or reduce-scatter that needs no staging once its operand is complete, and waits for it before
/// its result is first read, or at the end of its section. Does so only if something is computed in between and no
/// other stage receives the result; others stay synchronous.
/// The gather of a regathered state (`Plan::regathered`) starts as soon as the previous one of its section has been
/// waited for: it is prefetched by one. The collective of a sum over micro-batches starts in the last micro-batch.
/// Everything started before the update is waited for before the update. Reduce-scatters that hold many bytes of whole
/// gradients are waited for earlier, before further ones start (`scattered_bytes`). Those that need staging run once
/// their operand is complete. Does nothing unless `options.overlap` is set.
void overlap_collectives(Schedule& schedule, const LocalGraph& local, const ScheduleOptions& options);

}  // namespace partita
