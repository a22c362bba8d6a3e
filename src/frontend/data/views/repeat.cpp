#include "frontend/data/views/repeat.h"

#include <limits>

#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

class Repeat : public IndexView {
 public:
  Repeat(DatasetPtr source, int64_t times) : IndexView(std::move(source)), pass_size_(source_->size()), times_(times) {}
  int64_t size() const override { return pass_size_ * times_; }
  std::optional<IntegerRange> integers(size_t column) const override { return source_->integers(column); }
  int64_t sample(int64_t epoch, int64_t index) const override {
    return index / pass_size_ * pass_size_ + IndexView::sample(epoch, index);
  }

 protected:
  SourceRow source_row(int64_t epoch, int64_t index) const override {
    return {epoch * times_ + index / pass_size_, index % pass_size_};
  }

 private:
  int64_t pass_size_;
  int64_t times_;
};

}  // namespace

DatasetPtr repeat(DatasetPtr dataset, int64_t times) {
  // Keeps the products with epochs and sizes far from overflow.
  constexpr int64_t kMaxTimes = int64_t{1} << 20;
  const int64_t rows = dataset->size();
  const bool fits = rows == 0 || times <= std::numeric_limits<int64_t>::max() / 4 / rows;
  if (times < 1 || times > kMaxTimes || !fits) {
    throw InvalidArgument("[repeat] bad number of passes over {} rows, got {}, expected 1 to {}", rows, times,
                          kMaxTimes);
  }
  return std::make_shared<Repeat>(std::move(dataset), times);
}

}  // namespace partita
