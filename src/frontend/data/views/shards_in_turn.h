#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// One order of the rows of all shards in which every global batch has `batch` rows of each shard, one shard after the
/// other: rank r of as many ranks as there are shards then reads the batches of shard r. As many batches as the
/// shortest shard fills; other rows are left out. Throws InvalidArgument for no shards, columns that differ and a batch
/// below 1.
DatasetPtr shards_in_turn(std::vector<DatasetPtr> shards, int64_t batch);

}  // namespace partita
