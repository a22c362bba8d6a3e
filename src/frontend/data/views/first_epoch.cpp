#include "frontend/data/views/first_epoch.h"

#include "frontend/data/views/source_view.h"

namespace partita {
namespace {

class FirstEpoch : public IndexView {
 public:
  using IndexView::IndexView;
  std::optional<IntegerRange> integers(size_t column) const override { return source_->integers(column); }

 protected:
  SourceRow source_row(int64_t, int64_t index) const override { return {0, index}; }
};

}  // namespace

DatasetPtr first_epoch(DatasetPtr dataset) { return std::make_shared<FirstEpoch>(std::move(dataset)); }

}  // namespace partita
