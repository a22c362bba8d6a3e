#include "frontend/data/views/shard.h"

#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

class Shard : public IndexView {
 public:
  Shard(DatasetPtr source, int64_t num_shards, int64_t shard_id)
      : IndexView(std::move(source)), num_shards_(num_shards), shard_id_(shard_id) {}
  int64_t size() const override { return source_->size() / num_shards_ + (source_->size() % num_shards_ != 0); }

 protected:
  SourceRow source_row(int64_t epoch, int64_t index) const override {
    return {epoch, (num_shards_ * index + shard_id_) % source_->size()};
  }

 private:
  int64_t num_shards_;
  int64_t shard_id_;
};

}  // namespace

DatasetPtr shard(DatasetPtr dataset, int64_t num_shards, int64_t shard_id) {
  constexpr int64_t kMaxShards = 65'536;
  if (num_shards < 1 || num_shards > kMaxShards) {
    throw InvalidArgument("[shard] bad num_shards, got {}, expected 1 to {}", num_shards, kMaxShards);
  }
  if (shard_id < 0 || shard_id >= num_shards) {
    throw InvalidArgument("[shard] bad shard_id, got {}, expected 0 <= shard_id < {}", shard_id, num_shards);
  }
  return std::make_shared<Shard>(std::move(dataset), num_shards, shard_id);
}

}  // namespace partita
