#pragma once
// Packs all-reduces into buckets, and makes those that nothing waits for asynchronous, overlapped with the backward
// pass.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Packs all-reduces of one element type, reduction and axes into two kinds of bucket. Consecutive ones (the moments of
/// a norm) are reduced together, synchronously. Those whose results only the update reads, or nothing (gradients, the
/// loss), are collected in the order in which they become ready, up to `bucket_bytes` (a larger one by itself), and
/// start once the last of them is ready; synchronously if no computation is left to overlap them or `options.overlap`
/// is not set. An all-reduce whose operand something else reads, or is a state, an input or a view, is not packed, nor
/// one whose result another one in a bucket reduces. Does nothing unless `options.pack` is set.
void pack_reductions(Schedule& schedule, const LocalGraph& local, const ScheduleOptions& options);

}  // namespace partita
