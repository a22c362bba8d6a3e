#include "frontend/data/views/shards_in_turn.h"

#include <algorithm>
#include <limits>

#include "frontend/data/views/concat.h"

namespace partita {
namespace {

class ShardsInTurn : public Dataset {
 public:
  ShardsInTurn(std::vector<DatasetPtr> shards, int64_t batch) : shards_(std::move(shards)), batch_(batch) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const DatasetPtr& shard : shards_) least = std::min(least, shard->size());
    size_ = least / batch * batch * ways();
  }

  const std::vector<Column>& columns() const override { return shards_[0]->columns(); }
  int64_t size() const override { return size_; }
  bool has_functions() const override { return have_functions(shards_); }
  int64_t sample(int64_t epoch, int64_t index) const override {
    return shard_of(index).sample(epoch, place_of(index)) * ways() + index / batch_ % ways();
  }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    std::vector<int64_t> run;
    for (size_t first = 0; first < indices.size(); first += run.size()) {
      const Dataset& shard = shard_of(indices[first]);
      run.clear();
      for (size_t i = first; i < indices.size() && &shard_of(indices[i]) == &shard; ++i) {
        run.push_back(place_of(indices[i]));
      }
      shard.read(epoch, run, slice_rows(out, static_cast<int64_t>(first), static_cast<int64_t>(run.size())));
    }
  }

 private:
  int64_t ways() const { return static_cast<int64_t>(shards_.size()); }
  const Dataset& shard_of(int64_t index) const { return *shards_[static_cast<size_t>(index / batch_ % ways())]; }
  int64_t place_of(int64_t index) const { return index / (batch_ * ways()) * batch_ + index % batch_; }

  std::vector<DatasetPtr> shards_;
  int64_t batch_, size_ = 0;
};

}  // namespace

DatasetPtr shards_in_turn(std::vector<DatasetPtr> shards, int64_t batch) {
  concat(shards);  // throws if the columns differ
  if (batch < 1) throw InvalidArgument("[shards] bad batch, got {}, expected 1 or more rows", batch);
  return std::make_shared<ShardsInTurn>(std::move(shards), batch);
}

}  // namespace partita
