#include "frontend/data/views/skip.h"

#include <algorithm>

#include "frontend/data/views/index_view.h"

namespace partita {
namespace {

class Skip : public IndexView {
 public:
  Skip(DatasetPtr source, int64_t count) : IndexView(std::move(source)), count_(count) {}
  int64_t size() const override { return std::max<int64_t>(source_->size() - count_, 0); }

 protected:
  SourceRow source_row(int64_t epoch, int64_t index) const override { return {epoch, index + count_}; }

 private:
  int64_t count_;
};

}  // namespace

DatasetPtr skip(DatasetPtr dataset, int64_t count) {
  if (count < 0) {
    throw InvalidArgument(fmt::format("[skip] bad number of rows, got {}, expected 0 or more", count));
  }
  return std::make_shared<Skip>(std::move(dataset), count);
}

}  // namespace partita
