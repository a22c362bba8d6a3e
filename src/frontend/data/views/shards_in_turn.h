#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns the rows of all shards in an order in which every global batch has `batch` rows of each shard, one shard
/// after the other. If there are as many ranks as shards, rank r then reads the batches of shard r. There are as many
/// batches as the shortest shard fills; other rows are left out. Throws InvalidArgument for no shards, columns that
/// differ and a batch below 1.
DatasetPtr shards_in_turn(std::vector<DatasetPtr> shards, int64_t batch);

}  // namespace partita
