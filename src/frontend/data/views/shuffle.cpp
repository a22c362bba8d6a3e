#include "frontend/data/views/shuffle.h"

#include <array>
#include <mutex>
#include <numeric>

#include "base/philox.h"
#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

using Order = std::shared_ptr<const std::vector<int64_t>>;

/// Returns a Fisher-Yates permutation. The draw for position i is number i of the stream at time `epoch`.
Order permutation(int64_t size, uint64_t key, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random_below(key, i - 1, static_cast<uint64_t>(epoch), i)]);
  }
  return std::make_shared<const std::vector<int64_t>>(std::move(order));
}

class Shuffle : public IndexView {
 public:
  Shuffle(DatasetPtr source, uint64_t seed) : IndexView(std::move(source)), key_(random_key(seed, "shuffle")) {}
  std::optional<IntegerRange> integers(size_t column) const override { return source_->integers(column); }

 protected:
  SourceRow source_row(int64_t epoch, int64_t index) const override {
    return {epoch, (*order(epoch))[static_cast<size_t>(index)]};
  }

 private:
  // Two epochs are kept, since prefetching workers may read both at the same time.
  struct Kept {
    int64_t epoch = -1;
    Order order;
  };

  Order order(int64_t epoch) const {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[static_cast<size_t>(epoch % 2)];
    if (kept.epoch != epoch) kept = {epoch, permutation(size(), key_, epoch)};
    return kept.order;
  }

  uint64_t key_;
  mutable std::mutex mutex_;
  mutable std::array<Kept, 2> kept_;
};

}  // namespace

DatasetPtr shuffle(DatasetPtr dataset, uint64_t seed) { return std::make_shared<Shuffle>(std::move(dataset), seed); }

}  // namespace partita
