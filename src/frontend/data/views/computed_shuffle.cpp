#include "frontend/data/views/computed_shuffle.h"

#include "base/permutation.h"
#include "base/philox.h"
#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

class ComputedShuffle : public IndexView {
 public:
  ComputedShuffle(DatasetPtr source, uint64_t seed)
      : IndexView(std::move(source)), key_(random_key(seed, "computed_shuffle")) {}
  std::optional<IntegerRange> integers(size_t column) const override { return source_->integers(column); }

 protected:
  SourceRow source_row(int64_t epoch, int64_t index) const override {
    return {epoch, Permutation(size(), key_, static_cast<uint64_t>(epoch))(index)};
  }

 private:
  uint64_t key_;
};

}  // namespace

DatasetPtr computed_shuffle(DatasetPtr dataset, uint64_t seed) {
  return std::make_shared<ComputedShuffle>(std::move(dataset), seed);
}

}  // namespace partita
