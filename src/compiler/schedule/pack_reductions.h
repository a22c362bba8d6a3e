#pragma once
// Puts all-reduces into buckets, and makes those that nobody waits for asynchronous: they overlap the backward.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Two kinds of bucket: neighbours that follow one another (the moments of a norm) are reduced at
/// once; results that only the update or nobody reads (gradients, the loss) are collected in the order
/// in which they become ready, up to `bucket_bytes`, and started when the last of them is there. The
/// last bucket is reduced at once: no computation is left to overlap it.
void pack_reductions(Schedule& schedule, const LocalGraph& local, const ScheduleOptions& options);

}  // namespace partita
