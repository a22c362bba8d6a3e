#pragma once
// Packs all-reduces into buckets, and makes those that nothing waits for asynchronous, overlapped with the backward.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Packs two kinds of bucket. Consecutive all-reduces (the moments of a norm) are reduced together, at once. Results
/// that only the update reads, or that nothing reads (gradients, the loss), are collected in the order in which they
/// become ready, up to `bucket_bytes` (a larger one by itself), and started once the last of them is ready.
/// A bucket is reduced at once if no computation is left to overlap it or `options.overlap` is not set. An all-reduce
/// whose operand something else reads is not packed. Does nothing unless `options.pack` is set.
void pack_reductions(Schedule& schedule, const LocalGraph& local, const ScheduleOptions& options);

}  // namespace partita
