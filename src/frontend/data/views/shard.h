#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset of every num_shards-th row. All shards have ceil(size / num_shards) rows: row k of shard s is row
/// (num_shards * k + s) mod size, so the last rows may wrap around. Throws InvalidArgument unless num_shards is 1 to
/// 65536 and 0 <= shard_id < num_shards.
DatasetPtr shard(DatasetPtr dataset, int64_t num_shards, int64_t shard_id);

}  // namespace partita
