#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset of the rows of all shards in turn: `batch` rows of the first, `batch` of the second, and so on,
/// then the next ones of the first. In global batches of `batch` rows per shard, with as many ranks as shards, rank r
/// reads the batches of shard r. There are as many batches as the shortest shard fills; other rows are left out. Throws
/// InvalidArgument for no shards, columns that differ and a batch below 1.
DatasetPtr shards_in_turn(std::vector<DatasetPtr> shards, int64_t batch);

}  // namespace partita
