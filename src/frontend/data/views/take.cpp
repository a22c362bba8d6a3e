#include "frontend/data/views/take.h"

#include <algorithm>

#include "frontend/data/views/index_view.h"

namespace partita {
namespace {

class Take : public IndexView {
 public:
  Take(DatasetPtr source, int64_t count) : IndexView(std::move(source)), count_(count) {}
  int64_t size() const override { return std::min(count_, source_->size()); }

 protected:
  SourceRow source_row(int64_t epoch, int64_t index) const override { return {epoch, index}; }

 private:
  int64_t count_;
};

}  // namespace

DatasetPtr take(DatasetPtr dataset, int64_t count) {
  if (count < 0) {
    throw InvalidArgument(fmt::format("[take] bad number of rows, got {}, expected 0 or more", count));
  }
  return std::make_shared<Take>(std::move(dataset), count);
}

}  // namespace partita
